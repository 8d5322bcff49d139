import { z } from 'zod';
import { json } from '../stored.ts';
import { callOutput } from '../tool-loop/conversation.ts';
import { usage } from '../usage.ts';

const promptMessage = z
  .object({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    /** Tool results and tool calls are JSON; long text is cut. */
    text: z.string(),
  })
  .readonly();

/**
 * A message of a prompt, as text.
 * @example const asked: PromptMessage = { role: 'user', text: 'What is the weather in Bern?' };
 */
export type PromptMessage = z.infer<typeof promptMessage>;

const modelStep = z
  .object({
    provider: z.string(),
    /** The messages that earlier steps of the agent do not contain. */
    prompt: z.array(promptMessage).readonly(),
    /** The number of messages before those. */
    earlierMessages: z.number(),
    /** Names of the tools that were offered. */
    tools: z.array(z.string()).readonly(),
    text: z.string().exactOptional(),
    /** The reasoning of the model, if the provider returns it. */
    reasoning: z.string().exactOptional(),
    calls: z
      .array(z.object({ id: z.string(), name: z.string(), input: json }).readonly())
      .readonly()
      .exactOptional(),
    finishReason: z.string().exactOptional(),
    usage: usage.exactOptional(),
  })
  .readonly();

const toolStep = z
  .object({
    callId: z.string(),
    input: json,
    output: callOutput.exactOptional(),
    /** What the caller is asked for: `confirmation`, `credential`, `result` or `answer`. */
    asks: z.string().exactOptional(),
  })
  .readonly();

export const step = z
  .object({
    /** Counts from 1 within an attempt of a turn, in the order of the starts. */
    id: z.number(),
    /** The step that this one is part of. */
    parent: z.number().exactOptional(),
    kind: z.enum(['agent', 'model', 'tool', 'compaction']),
    /** The name of the agent, model or tool. */
    name: z.string(),
    /** `paused`: waits for the caller. `interrupted`: its process died, or its turn was aborted. */
    state: z.enum(['running', 'done', 'failed', 'paused', 'interrupted']),
    /** Milliseconds since 1970. */
    startedAt: z.number(),
    endedAt: z.number().exactOptional(),
    /** Whether its outcome comes from the journal of an earlier attempt. */
    isReplayed: z.boolean().exactOptional(),
    /** Why it failed, or its outcome. */
    detail: z.string().exactOptional(),
    /** The W3C trace and the span that it belongs to. */
    traceId: z.string().exactOptional(),
    spanId: z.string().exactOptional(),
    model: modelStep.exactOptional(),
    tool: toolStep.exactOptional(),
    /** A remote agent: its URL, and its task there. */
    remote: z
      .object({ url: z.string(), taskId: z.string().exactOptional() })
      .readonly()
      .exactOptional(),
  })
  .readonly();

/**
 * One step of an agent: a run of an agent, a model call, a tool call, or a compaction of the
 * conversation. Steps nest by `parent`.
 * @example const slowest = (steps: readonly Step[]) => steps.toSorted((a, b) => lasted(b) - lasted(a))[0];
 */
export type Step = z.infer<typeof step>;

/**
 * The A2A extension that sends steps to callers: each as `metadata[stepsExtension]` of a `working`
 * status, once when it starts and once when it ends.
 * @example const client = await connect(url, { extensions: [stepsExtension] });
 */
export const stepsExtension = 'urn:legate:extensions:steps:v1';
