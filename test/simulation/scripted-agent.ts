import { type Agent, chunk, inputRequired, type Turn, working } from '../../src/agents/index.ts';
import type { JsonObject } from '../../src/protocol/index.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Tally, TallyEntry } from './ledger/effects.ts';
import type { AgentTraits } from './plan.ts';
import type { Lane } from './virtual-time.ts';

/** What a message asks of the agent. */
export interface Script {
  readonly chunks: number;
  /** Milliseconds before each chunk and before the end. */
  readonly pause: number;
  readonly end: 'completed' | 'input-required' | 'failed' | 'throws' | 'hangs' | 'reply';
  /** Continues when it is told to stop. */
  readonly isDeaf: boolean;
  /** Says that it is at work first. */
  readonly speaks: boolean;
}

export const agentName = 'counter';

export interface ScriptedAgentOptions {
  readonly replica: string;
  readonly lane: Lane;
  readonly ledger: Ledger;
  readonly traits: AgentTraits;
}

/** An agent that does what each message says, and counts the messages of a conversation. */
export function scriptedAgent(options: ScriptedAgentOptions): Agent {
  const { abandons, ...traits } = options.traits;
  return {
    ...traits,
    name: agentName,
    description: 'counts the messages of a conversation',
    skills: [],
    take: (turn) => take(turn, options),
    ...(abandons && { abandon: (turn) => abandon(turn, options) }),
  };
}

async function* take(turn: Turn, options: ScriptedAgentOptions): ReturnType<typeof events> {
  const { ledger, replica, traits } = options;
  const { taskId, contextId, caller, signal } = turn;
  const key = traits.serialise === 'task' ? taskId : `${caller.subject}\n${contextId}`;
  const run = ledger.runs.begin({ replica, key, taskId, signal });
  try {
    yield* events(turn, run.id, options);
  } finally {
    ledger.runs.end(run);
  }
}

async function* events(turn: Turn, run: number, { lane, traits }: ScriptedAgentOptions) {
  const script = turn.message.parts[0]?.data as unknown as Script;
  const before = traits.serialise === 'task' ? undefined : await tally(turn);
  const entry: TallyEntry = { messageId: turn.message.messageId };
  const context = {
    log: [entry as unknown as JsonObject],
    ...(before !== undefined && { value: { count: before.count + 1 } }),
  };
  if (script.end === 'reply') {
    await pause(script, turn, lane);
    yield { kind: 'message' as const, parts: [{ text: 'counted' }], context };
    return;
  }
  if (script.speaks) yield working('counting');
  for (let index = 0; index < script.chunks; index += 1) {
    await pause(script, turn, lane);
    yield chunk('numbers', `${index}`, {
      append: index > 0,
      last: index === script.chunks - 1,
      metadata: { run },
    });
  }
  await pause(script, turn, lane);
  switch (script.end) {
    case 'input-required':
      yield inputRequired('More?', { context });
      return;
    case 'failed':
      yield { kind: 'failed' as const, context };
      return;
    case 'throws':
      throw new Error('the script says so');
    case 'hangs':
      await (script.isDeaf ? new Promise(() => {}) : aborted(turn.signal));
      return;
    case 'completed':
      yield { kind: 'completed' as const, context };
  }
}

/** Puts the conversation in order: nothing was counted, and the log says what was abandoned. */
async function abandon(turn: Turn, { lane, traits }: ScriptedAgentOptions) {
  const before = traits.serialise === 'task' ? undefined : await tally(turn);
  await lane.sleep(1);
  const entry: TallyEntry = { abandoned: turn.taskId };
  return {
    context: {
      log: [entry as unknown as JsonObject],
      ...(before !== undefined && { value: { count: before.count } }),
    },
  };
}

async function tally(turn: Turn): Promise<Tally> {
  return ((await turn.state.load()) as unknown as Tally | undefined) ?? { count: 0 };
}

async function pause(script: Script, turn: Turn, lane: Lane): Promise<void> {
  if (script.pause === 0) return;
  if (script.isDeaf) return lane.sleep(script.pause);
  turn.signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      timer.cancel();
      reject(turn.signal.reason as Error);
    };
    const timer = lane.after(script.pause, () => {
      turn.signal.removeEventListener('abort', onAbort);
      resolve();
    });
    turn.signal.addEventListener('abort', onAbort, { once: true });
  });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
