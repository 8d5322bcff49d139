import type { Caller, ContextPatch, Turn, TurnEnd } from '../../agents/index.ts';
import { data, text } from '../../protocol/index.ts';
import type { Assistant } from '../assistant.ts';
import type { TurnResult } from '../turn-result.ts';

/** Who notes it when a conversation rests. */
export interface RestTimers {
  /** The id of a timer that waits from now on; undefined where there is none. */
  arm(caller: Caller, contextId: string, at: number): Promise<string | undefined>;
}

/** What of a turn is kept, in one transaction with its end. */
export type Keep = (result: TurnResult) => Promise<ContextPatch>;

/** Keeps what came of a turn, with a timer for the conversation where it has none. */
export function keeping(assistant: Assistant, turn: Turn, timers: RestTimers | undefined): Keep {
  return async ({ tracker, events, outcome }) => {
    const kept = { value: tracker, log: events };
    const needsNone = tracker['timer'] !== null || tracker['inactive'] === true || outcome.ended;
    if (timers === undefined || needsNone) return kept;
    const { caller, contextId } = turn;
    const timer = await timers.arm(caller, contextId, assistant.restsFrom(tracker));
    return timer === undefined ? kept : { ...kept, value: { ...tracker, timer } };
  };
}

export function notReady(): TurnEnd {
  return failure('agent_not_ready', 'Agent is not ready to handle messages.');
}

export function sessionEnded(): TurnEnd {
  return failure('session_ended', 'This conversation has ended. Start another one.');
}

function failure(errorType: string, words: string): TurnEnd {
  return {
    kind: 'failed',
    parts: [data({ state: 'failed', error_type: errorType, error_info: {} }), text(words)],
  };
}
