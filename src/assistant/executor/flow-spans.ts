import { counter, endSpan, inSpan, type Span, startSpan } from '../../telemetry/index.ts';
import type { StackFrame, TrackerEvent } from '../conversation.ts';
import type { Step } from '../model.ts';

const steps = counter('legate.flow.steps');
const flowEvents = counter('legate.flow.events');

/** The `event` label of each tracker event that the metric counts. */
const counted: Readonly<Record<string, string>> = {
  flow_started: 'started',
  flow_completed: 'completed',
  flow_cancelled: 'cancelled',
  flow_interrupted: 'interrupted',
  flow_resumed: 'resumed',
};

/** Counts the flow events of a turn. */
export function countFlowEvents(events: readonly TrackerEvent[]): void {
  for (const { event: type, flow_id: flow } of events) {
    const event = counted[type];
    if (event !== undefined && typeof flow === 'string') flowEvents.add(1, { flow, event });
  }
}

/**
 * The spans of the flows and steps of one turn. At most one flow and one of its steps are open at a time.
 *
 * - A step is open until the next step starts or the turn waits for the user.
 * - A flow is open while consecutive steps belong to it. A flow that calls another flow has two spans:
 *   one before the call and one after it.
 */
export class FlowSpans implements Disposable {
  #flow: { readonly frameId: string; readonly span: Span } | undefined;
  #step: Span | undefined;

  /** Ends the open step and opens a span for this one. */
  enter({ frameId, flowId }: Pick<StackFrame, 'frameId' | 'flowId'>, { id, kind }: Step): void {
    this.#endStep();
    if (this.#flow?.frameId !== frameId) {
      this.#endFlow();
      const span = startSpan('legate.flow', { attributes: { 'legate.flow': flowId } });
      this.#flow = { frameId, span };
    }
    const attributes = { 'legate.flow': flowId, 'legate.step': id, 'legate.step.kind': kind };
    this.#step = inSpan(this.#flow.span, () => startSpan('legate.step', { attributes }));
    steps.add(1, { flow: flowId, kind });
  }

  /** Runs work in the open step: its spans are children of the step's span. */
  within<T>(work: () => T): T {
    return this.#step === undefined ? work() : inSpan(this.#step, work);
  }

  /** Ends the open step with an error. */
  fail(code: string): void {
    this.#step?.setAttribute('error.type', code);
    this.#endStep({ code });
  }

  [Symbol.dispose](): void {
    this.#endStep();
    this.#endFlow();
  }

  #endStep(error?: { readonly code: string }): void {
    if (this.#step !== undefined) endSpan(this.#step, error);
    this.#step = undefined;
  }

  #endFlow(): void {
    if (this.#flow !== undefined) endSpan(this.#flow.span);
    this.#flow = undefined;
  }
}
