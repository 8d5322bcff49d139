import type { ContextPatch, TurnEnd } from '../../agents/index.ts';
import { data, text } from '../../protocol/index.ts';
import type { TurnResult } from '../turn-result.ts';

/** What of a turn is kept: in one transaction with its end. */
export function contextOf(result: TurnResult): ContextPatch {
  return { value: result.tracker, log: result.events };
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
