import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { counter, histogram } from '../../telemetry/index.ts';
import type { Invocation, InvocationOutcome } from './invocation.ts';

const library = 'legate.a2a';
/** The longest duration of a fast answer, in milliseconds. */
const fast = 5_000;

/**
 * The spans of one invocation in this process; after a takeover there is no `invoke` span. All spans end
 * when the peer asks a person: the answer may take days and arrive at another process. It starts a new
 * `invoke` span.
 */
interface InvocationSpans {
  readonly invoke?: Span;
  loop?: Span;
  /** Open while the peer waits for an answer. */
  round?: Span;
}

/** Spans and metrics of calls to peers. */
export class InvokeTelemetry {
  readonly #tracer = trace.getTracer(library);
  readonly #requests = counter('legate.a2a.requests');
  readonly #failures = counter('legate.a2a.failures');
  readonly #rounds = counter('legate.a2a.input_required_rounds');
  readonly #breaks = counter('legate.a2a.input_required_breaks');
  readonly #polls = counter('legate.a2a.polling_attempts');
  readonly #events = counter('legate.a2a.streaming_events');
  readonly #fallbacks = counter('legate.a2a.subscribe_fallbacks');
  readonly #duration = histogram('legate.a2a.duration');
  readonly #spans = new Map<string, InvocationSpans>();

  started(invocation: Invocation): void {
    this.#requests.add(1, labels(invocation));
    this.#open(invocation);
  }

  /** A span of one exchange: `http_dispatch`, `streaming_dispatch`, `poll_loop`, `subscribe_loop`. */
  dispatch(name: string, invocation: Invocation, version?: string): Span {
    const attributes = {
      ...tags(invocation),
      ...(version !== undefined && { 'legate.a2a.a2a_version': version }),
    };
    return this.#tracer.startSpan(`legate.a2a.${name}`, { attributes });
  }

  /**
   * Runs work within the trace of an invocation, so that requests to the peer belong to it.
   */
  within<T>({ id }: Invocation, work: () => T): T {
    return context.with(this.#contextOf(id), work);
  }

  /** A peer asks: the round lasts until a model has answered it, or the invocation ends. */
  round(invocation: Invocation, isAutonomous: boolean): void {
    const { id } = invocation;
    this.#rounds.add(1, labels(invocation));
    const attributes = {
      ...tags(invocation),
      'legate.a2a.round': invocation.rounds,
      'legate.a2a.autonomous': isAutonomous,
    };
    const spans = this.#spans.get(id) ?? {};
    this.#spans.set(id, spans);
    const from = this.#contextOf(id);
    spans.loop ??= this.#tracer.startSpan('legate.a2a.input_required_loop', { attributes }, from);
    spans.round?.end();
    const inLoop = trace.setSpan(from, spans.loop);
    spans.round = this.#tracer.startSpan('legate.a2a.input_required_round', { attributes }, inLoop);
    if (!isAutonomous) this.paused(invocation);
  }

  /** An answer is sent. */
  answering(invocation: Invocation): void {
    if (this.#spans.get(invocation.id)?.invoke === undefined) this.#open(invocation);
  }

  /** A person is asked. */
  paused({ id }: Invocation): void {
    this.#end(id);
  }

  /** The peer has its answer. */
  answered({ id }: Invocation): void {
    const spans = this.#spans.get(id);
    spans?.round?.end();
    if (spans !== undefined) delete spans.round;
  }

  loopEnded(invocation: Invocation, reason: 'max_rounds' | 'repetition'): void {
    this.#breaks.add(1, { ...labels(invocation), reason });
  }

  polled(invocation: Invocation): void {
    this.#polls.add(1, labels(invocation));
  }

  streamed(invocation: Invocation): void {
    this.#events.add(1, labels(invocation));
  }

  fellBack(invocation: Invocation): void {
    this.#fallbacks.add(1, labels(invocation));
  }

  ended(invocation: Invocation, { end }: InvocationOutcome, now: number): void {
    const ms = now - invocation.startedAt;
    const isOk = end === 'TASK_STATE_COMPLETED';
    if (!isOk) this.#failures.add(1, { ...labels(invocation), end });
    const grade = ms <= fast ? 'fast' : 'slow';
    const status = isOk ? 'ok' : 'error';
    this.#duration.record(ms, { ...labels(invocation), status, latency_grade: grade });
    const invoke = this.#spans.get(invocation.id)?.invoke;
    invoke?.setAttributes({ ...tags(invocation), 'legate.a2a.duration_ms': ms });
    if (!isOk) invoke?.setStatus({ code: SpanStatusCode.ERROR, message: end });
    this.#end(invocation.id);
  }

  /** Other processes continue what is in flight here. */
  close(): void {
    for (const id of this.#spans.keys()) this.#end(id);
  }

  #open(invocation: Invocation): void {
    const attributes = tags(invocation);
    const invoke = this.#tracer.startSpan('legate.a2a.invoke', { attributes });
    this.#spans.set(invocation.id, { ...this.#spans.get(invocation.id), invoke });
  }

  #end(id: string): void {
    const spans = this.#spans.get(id);
    this.#spans.delete(id);
    for (const span of [spans?.round, spans?.loop, spans?.invoke]) span?.end();
  }

  /** The trace of an invocation; the active one if it started in another process. */
  #contextOf(id: string): Context {
    const invoke = this.#spans.get(id)?.invoke;
    return invoke === undefined ? context.active() : trace.setSpan(context.active(), invoke);
  }
}

/** Callers and models may name any skill: a metric series for each would be unbounded. */
function labels({ agent, skill, isSkillUnlisted, transportKind }: Invocation): Attributes {
  return {
    'legate.a2a.target_agent': agent,
    'legate.a2a.skill': isSkillUnlisted === true ? 'other' : skill,
    'legate.a2a.transport': transportKind,
  };
}

/** The peer's own ids, for spans that start before they are known. */
export function remoteTags({ taskId, contextId }: NonNullable<Invocation['remote']>): Attributes {
  return {
    ...(taskId !== undefined && { 'legate.a2a.task_id': taskId }),
    ...(contextId !== undefined && { 'legate.a2a.context_id': contextId }),
  };
}

/** On every span, to join the traces of caller and responder. */
function tags(invocation: Invocation): Attributes {
  const { id, remote, session } = invocation;
  return {
    ...labels(invocation),
    'legate.a2a.skill': invocation.skill,
    'legate.a2a.protocol': invocation.transportKind === 'plain' ? 'tasks/send' : 'a2a',
    'legate.a2a.correlation_id': id,
    'legate.a2a.session_id': session.id,
    'legate.a2a.task_id': id,
    ...remoteTags(remote ?? {}),
  };
}
