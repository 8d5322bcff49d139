import { z } from 'zod';
import {
  type Artifact,
  checkOptions,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  message,
  type Message,
  type OptionNames,
  textOf,
} from '../../protocol/index.ts';
import type { Agent, TurnEnd, TurnEvent } from '../agent.ts';
import { checkAgent } from '../check-agent.ts';
import { childTurn } from '../child-turn.ts';
import { drive, isPause } from '../drive.ts';
import { usageOf } from '../usage.ts';
import { TurnOutput } from '../turn-output.ts';
import { type Tool, tool, type ToolContext, type ToolOptions, ToolPause } from './tool.ts';

const input = z.object({ request: z.string().describe('What the agent is to do, in full.') });

/**
 * Options of an agent as a tool.
 * @example
 * const options: AgentToolOptions = {
 *   name: 'ask_lawyer',
 *   needsConfirmation: () => 'The lawyer takes 80 francs. Ask all the same?',
 *   timeoutMs: 120_000,
 * };
 */
export type AgentToolOptions = Partial<
  Pick<ToolOptions<JsonObject>, 'description' | 'needsConfirmation' | 'timeoutMs'>
> & {
  /** The name of the tool. @default the agent's name; of a remote agent, the name in its card */
  readonly name?: string;
  /**
   * Whether a call runs again if a crash left its outcome unknown. @default true for agents with
   * `onInterrupted: 'run-again'`, such as `llmAgent` and workflows: their journal contains their work
   */
  readonly isIdempotent?: boolean;
  /**
   * Whether the agent's artifacts are streamed to the caller, in addition to the output of the calling
   * agent. @default false: only progress
   */
  readonly streams?: boolean;
};

const optionNames: OptionNames<AgentToolOptions> = {
  name: 'string',
  description: 'string',
  needsConfirmation: { oneOf: ['boolean', 'function'] },
  isIdempotent: 'boolean',
  timeoutMs: 'number',
  streams: 'boolean',
};

/**
 * Wraps an agent as a tool of another agent: it takes a request and returns the agent's output. Each
 * call is a separate conversation. A question of the agent becomes a question to the caller, and the
 * answer goes to the agent.
 * @example llmAgent({ name: 'editor', model, tools: [agentTool(researcher)] })
 */
export function agentTool(agent: Agent, given: AgentToolOptions = {}): Tool {
  checkAgent('agentTool', agent);
  checkOptions(`agentTool of "${agent.name}"`, given, optionNames);
  const { streams = false, ...options } = given;
  const run = async (call: Call, context: ToolContext): Promise<unknown> => {
    const turn = childTurn(context.turn, {
      name: `call/${context.callId}`,
      message: call.message,
      value: call.value,
      isContinuation: call.isContinuation,
      signal: context.signal,
      steps: context.steps,
    });
    const output = new TurnOutput();
    const events = drive(agent, turn, output);
    for (;;) {
      const next = await events.next();
      if (next.done === true) return outcomeOf(agent, next.value, output, context);
      // Artifacts go to the calling agent, progress goes to the caller.
      const event = next.value;
      if ('kind' in event && event.kind === 'working') await context.emit(event);
      else if (streams) await emitOutput(event, context);
    }
  };
  const made = tool({
    name: toolNameOf(agent.name),
    description: agent.description,
    input,
    timeoutMs: 0,
    // An agent that can run again replays its journal, including its own calls.
    isIdempotent: agent.onInterrupted === 'run-again',
    ...options,
    run: ({ request }, context) => {
      const { messageId, metadata } = context.turn.message;
      const asked = message(request, {
        messageId: `${messageId}/${context.callId}`,
        contextId: context.turn.contextId,
        taskId: context.turn.taskId,
        ...(metadata !== undefined && { metadata }),
      });
      return run({ message: asked, value: undefined, isContinuation: false }, context);
    },
    resume: ({ message: answer, state }, context) =>
      run({ message: answer, value: valueIn(state), isContinuation: true }, context),
    abandon: async (state, turn) => {
      await agent.abandon?.(childTurn(turn, { name: 'call', value: valueIn(state) }));
    },
  });
  if (agent.prepare === undefined) return made;
  return {
    ...made,
    // The name and description of a remote agent come from its card, once it is connected; before that,
    // the name is an address.
    get name() {
      return options.name ?? toolNameOf(agent.title ?? agent.name);
    },
    get description() {
      return options.description ?? agent.description;
    },
    prepare: async (signal) => agent.prepare?.(signal),
  };
}

/** Converts the name of an agent to a valid tool name. */
function toolNameOf(name: string): string {
  const safe = name.replaceAll(/[^\w-]/g, '_').replace(/^(?![A-Za-z_])/, 'agent_');
  return safe.slice(0, 64);
}

/** Emits artifacts of the agent, under ids that are unique to the call. */
async function emitOutput(event: TurnEvent, { callId, emit }: ToolContext): Promise<void> {
  const renamed = (artifact: Artifact): Artifact => ({
    ...artifact,
    artifactId: `${callId}/${artifact.artifactId}`,
  });
  if (!('kind' in event)) await emit(renamed(event));
  else if (event.kind === 'chunk') await emit({ ...event, artifact: renamed(event.artifact) });
}

interface Call {
  readonly message: Message;
  readonly value: JsonObject | undefined;
  readonly isContinuation: boolean;
}

function outcomeOf(
  agent: Agent,
  end: TurnEnd,
  output: TurnOutput,
  context: ToolContext,
): JsonValue | ToolPause {
  if (isPause(end)) {
    return new ToolPause({
      question: end.parts ?? [{ text: `${agent.name} waits for an answer.` }],
      needsAuthorization: end.kind === 'auth-required',
      state: end.context?.value ?? null,
    });
  }
  context.addUsage(usageOf(end.metadata));
  if (end.kind !== 'completed') {
    const why = textOf({ parts: end.parts ?? [] });
    throw new Error(`the agent ${agent.name} ended as ${end.kind}${why === '' ? '' : `: ${why}`}`);
  }
  const data = output.parts().flatMap((part) => (part.data === undefined ? [] : [part.data]));
  const text = output.text();
  if (data.length === 0) return text;
  if (text === '' && data.length === 1) return data[0] ?? null;
  return { text, data };
}

function valueIn(state: JsonValue | undefined): JsonObject | undefined {
  return isJsonObject(state) ? state : undefined;
}
