import type { Artifact, JsonObject, Part } from '../../protocol/index.ts';
import type { EndKind, TurnEnd, TurnEvent } from '../agent.ts';
import { isEnd, TurnOutput } from '../turn-output.ts';

/**
 * What an invocation came to.
 * @example
 * const asked: InvocationResult = await runner.run({ message: 'Order two pizzas', userId: 'ada' });
 * if (asked.state === 'input-required') {
 *   const invocation = await runner.resume(asked.invocationId, 'Large ones');
 *   console.log((await invocation.result()).text);
 * }
 */
export interface InvocationResult {
  readonly invocationId: string;
  readonly sessionId: string;
  readonly state: EndKind;
  /** What was said at the end: the answer, the question, the reason. */
  readonly parts: readonly Part[];
  readonly artifacts: readonly Artifact[];
  /** All text that was made. */
  readonly text: string;
  readonly metadata: JsonObject;
  /** What the agent threw, where it did. */
  readonly error?: unknown;
}

/** How an invocation is carried out. */
export interface InvocationPlan {
  readonly id: string;
  readonly sessionId: string;
  readonly controller: AbortController;
  /** Carries it out, and returns what the agent threw. */
  readonly events: () => AsyncGenerator<TurnEvent, { readonly error?: unknown }>;
}

/**
 * One run of an agent. It goes on as its events are taken; whoever stops taking them cancels it.
 * @example for await (const event of invocation) show(event); const { text } = await invocation.result();
 */
export class Invocation implements AsyncIterable<TurnEvent> {
  readonly id: string;
  readonly sessionId: string;
  readonly #plan: InvocationPlan;
  readonly #output = new TurnOutput();
  readonly #events: AsyncGenerator<TurnEvent>;
  #end: TurnEnd = { kind: 'canceled' };
  #error: unknown;

  constructor(plan: InvocationPlan) {
    this.id = plan.id;
    this.sessionId = plan.sessionId;
    this.#plan = plan;
    this.#events = this.#run();
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    return this.#events;
  }

  /** Runs to the end, whatever of it was seen already. */
  async result(): Promise<InvocationResult> {
    for await (const event of this.#events) void event;
    const { kind, parts = [], metadata = {} } = this.#end;
    return {
      invocationId: this.id,
      sessionId: this.sessionId,
      state: kind,
      parts,
      artifacts: this.#output.artifacts(),
      text: this.#output.text(),
      metadata,
      ...(this.#error !== undefined && { error: this.#error }),
    };
  }

  /** Asks the agent to stop. */
  cancel(reason: unknown = new Error('the invocation was cancelled')): void {
    this.#plan.controller.abort(reason);
  }

  async *#run(): AsyncGenerator<TurnEvent> {
    const events = this.#plan.events();
    try {
      for (;;) {
        const next = await events.next();
        if (next.done === true) {
          this.#error = next.value.error;
          return;
        }
        const event = next.value;
        this.#output.add(event);
        if (isEnd(event)) {
          this.#end = event.kind === 'message' ? { ...event, kind: 'completed' } : event;
        }
        yield event;
      }
    } finally {
      this.cancel();
      await events.return({});
    }
  }
}
