import { z } from 'zod';
import { json } from '../stored.ts';
import { callOutput } from '../tool-loop/conversation.ts';
import { usage } from '../usage.ts';

const promptMessage = z
  .object({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    /** Results of tools and calls as JSON; long text is cut. */
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
    /** The messages that the earlier steps of the agent do not show. */
    prompt: z.array(promptMessage).readonly(),
    /** How many messages came before those. */
    earlierMessages: z.number(),
    /** Names of the tools that were offered. */
    tools: z.array(z.string()).readonly(),
    text: z.string().exactOptional(),
    /** The model's thoughts, where the provider shows them. */
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
    /** What the caller is asked: `confirmation`, `credential`, `result` or `answer`. */
    asks: z.string().exactOptional(),
  })
  .readonly();

export const step = z
  .object({
    /** Counts from 1 within an attempt at a turn, in the order of the starts. */
    id: z.number(),
    /** The step that this one is part of. */
    parent: z.number().exactOptional(),
    kind: z.enum(['agent', 'model', 'tool', 'compaction']),
    /** The agent, the model or the tool. */
    name: z.string(),
    /** `paused`: waits for the caller. `interrupted`: its process died, or its turn was stopped. */
    state: z.enum(['running', 'done', 'failed', 'paused', 'interrupted']),
    /** Milliseconds since 1970. */
    startedAt: z.number(),
    endedAt: z.number().exactOptional(),
    /** Its outcome was read from the journal of an earlier attempt. */
    isReplayed: z.boolean().exactOptional(),
    /** Why it failed, or its outcome. */
    detail: z.string().exactOptional(),
    /** The W3C trace and the span that it belongs to. */
    traceId: z.string().exactOptional(),
    spanId: z.string().exactOptional(),
    model: modelStep.exactOptional(),
    tool: toolStep.exactOptional(),
    /** An agent elsewhere: where, and its task there. */
    remote: z
      .object({ url: z.string(), taskId: z.string().exactOptional() })
      .readonly()
      .exactOptional(),
  })
  .readonly();

/**
 * One step of an agent: a run of an agent, an answer of a model, a call of a tool, or a compaction of
 * the conversation. Steps nest by `parent`.
 * @example const slowest = (steps: readonly Step[]) => steps.toSorted((a, b) => lasted(b) - lasted(a))[0];
 */
export type Step = z.infer<typeof step>;

/**
 * The A2A extension that sends steps to callers: each as `metadata[stepsExtension]` of a `working`
 * status, once when it starts and once when it ends.
 * @example const client = await connect(url, { extensions: [stepsExtension] });
 */
export const stepsExtension = 'urn:legate:extensions:steps:v1';
