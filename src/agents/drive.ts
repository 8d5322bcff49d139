import { type JsonObject, LegateError } from '../protocol/index.ts';
import { endSpan, inSpan, type Span, type SpanOptions, startSpan } from '../telemetry/index.ts';
import type { Agent, EndKind, Turn, TurnEnd } from './agent.ts';
import { failed } from './define.ts';
import { isEnd, type TurnOutput, type ProgressEvent } from './turn-output.ts';

/**
 * Runs a turn of one agent on behalf of another: yields its progress and returns its end. A plain
 * message and a missing end count as completed. If the agent throws, the end is failed, and the caller
 * continues; if the turn is aborted, this throws. `output` accumulates the output of the agent.
 */
export async function* drive(
  agent: Agent,
  turn: Turn,
  output: TurnOutput | undefined,
  /** Whether the turn has its own span. @default false */
  { isTraced = false } = {},
): AsyncGenerator<ProgressEvent, TurnEnd> {
  const span = isTraced
    ? undefined
    : startSpan(`invoke_agent ${agent.name}`, attributes(agent, turn));
  let code: string | undefined = 'canceled';
  try {
    const events = span === undefined ? agent.take(turn) : pulledIn(span, agent.take(turn));
    for await (const event of events) {
      turn.signal.throwIfAborted();
      output?.add(event);
      if (!isEnd(event)) yield event;
      else {
        code = event.kind === 'failed' ? typeOf(event) : undefined;
        return event.kind === 'message' ? { ...event, kind: 'completed' } : event;
      }
    }
    turn.signal.throwIfAborted();
    code = undefined;
    return { kind: 'completed' };
  } catch (error) {
    turn.signal.throwIfAborted();
    code = error instanceof LegateError ? error.code : 'agent_error';
    turn.logger.error({ error }, 'agents.agent.failed');
    return { ...failureOf(error, agent.name), error };
  } finally {
    if (span !== undefined) endSpan(span, code === undefined ? undefined : { code });
  }
}

function attributes({ name }: Agent, { contextId }: Turn): SpanOptions {
  return {
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': name,
      'gen_ai.conversation.id': contextId,
    },
  };
}

function typeOf({ metadata }: Pick<TurnEnd, 'metadata'>): string {
  const type = metadata?.['error_type'];
  return typeof type === 'string' ? type : 'failed';
}

/** Each pull runs in the span, so that spans which the agent starts become its children. */
function pulledIn<T>(span: Span, events: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = inSpan(span, () => events[Symbol.asyncIterator]());
      return {
        next: () => inSpan(span, () => iterator.next()),
        return: async (value) => (await iterator.return?.(value)) ?? { done: true, value },
      };
    },
  };
}

/** The end of an agent that threw. Callers see only the messages of `LegateError`. */
function failureOf(error: unknown, name: string): TurnEnd {
  const type = error instanceof LegateError ? error.code.toLowerCase() : 'agent_error';
  const what = error instanceof LegateError ? `: ${error.message}` : '.';
  return failure(type, `The agent ${name} failed${what}`);
}

/** A failed end, for programs (`error_type`) and for people. */
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
 * Whether another process runs the stopped turn again: then its calls to other agents are not
 * cancelled. `reason` is the reason of the turn's signal.
 */
export function handsOver(reason: unknown): boolean {
  return (
    typeof reason === 'object' &&
    reason !== null &&
    'handsOver' in reason &&
    reason.handsOver === true
  );
}
