import { type JsonObject, LegateError } from '../protocol/index.ts';
import type { Agent, EndKind, Turn, TurnEnd } from './agent.ts';
import { failed } from './define.ts';
import { isEnd, type TurnOutput, type ProgressEvent } from './turn-output.ts';

/**
 * Runs a turn of one agent on behalf of another: yields its progress and returns its end. A plain
 * message counts as completed, and so does a missing end. An agent that throws ends as failed, and
 * its caller goes on; an aborted turn throws.
 */
export async function* drive(
  agent: Agent,
  turn: Turn,
  output: TurnOutput,
): AsyncGenerator<ProgressEvent, TurnEnd> {
  try {
    for await (const event of agent.take(turn)) {
      turn.signal.throwIfAborted();
      output.add(event);
      if (!isEnd(event)) yield event;
      else return event.kind === 'message' ? { ...event, kind: 'completed' } : event;
    }
    turn.signal.throwIfAborted();
    return { kind: 'completed' };
  } catch (error) {
    turn.signal.throwIfAborted();
    turn.logger.error({ error }, 'agents.agent.failed');
    return { ...failureOf(error, agent.name), error };
  }
}

/** The end of an agent that threw. Only the texts of our own errors are shown to callers. */
function failureOf(error: unknown, name: string): TurnEnd {
  const type = error instanceof LegateError ? error.code.toLowerCase() : 'agent_error';
  const what = error instanceof LegateError ? `: ${error.message}` : '.';
  return failure(type, `The agent ${name} failed${what}`);
}

/** A failed end, for machines (`error_type`) and for people. */
export function failure(errorType: string, explanation: string, more: JsonObject = {}): TurnEnd {
  return failed(
    [{ data: { state: 'failed', error_type: errorType, ...more } }, { text: explanation }],
    { metadata: { error_type: errorType } },
  );
}

const interrupted: ReadonlySet<EndKind> = new Set(['input-required', 'auth-required']);

/** Whether a turn ended with a question to its caller. */
export function isPause(end: Pick<TurnEnd, 'kind'>): boolean {
  return interrupted.has(end.kind);
}

/**
 * Whether a stopped turn runs again elsewhere: then nothing that it started at other agents is
 * cancelled. `reason` is that of the turn's signal.
 */
export function handsOver(reason: unknown): boolean {
  return (
    typeof reason === 'object' &&
    reason !== null &&
    'handsOver' in reason &&
    reason.handsOver === true
  );
}
