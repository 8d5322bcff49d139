import {
  type Agent,
  drive,
  type EndKind,
  EventChannel,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  TurnOutput,
  type ProgressEvent,
} from '../../agents/index.ts';
import {
  type AnswerContent,
  type Artifact,
  contentOf,
  type JsonObject,
  type Part,
  type Task,
} from '../../protocol/index.ts';
import { until } from '../../time/index.ts';
import { endKindOf } from '../agent-events.ts';

/**
 * What an invocation came to.
 * @example
 * const asked: InvocationResult = await runner.run({ message: 'Order two pizzas', userId: 'ada' });
 * if (asked.state === 'input-required') {
 *   const invocation = await runner.resume(asked.invocationId, 'Large ones');
 *   console.log((await invocation.result()).text);
 * }
 */
export interface InvocationResult extends AnswerContent {
  readonly invocationId: string;
  readonly sessionId: string;
  readonly state: EndKind;
  /** What was said at the end: the answer, the question, the reason. */
  readonly parts: readonly Part[];
  readonly artifacts: readonly Artifact[];
  readonly metadata: JsonObject;
  /** What the agent threw, or why it failed: a `LegateError` (code, cause) where a model did. */
  readonly error?: unknown;
}

/** How an invocation is carried out by the engine. */
export interface InvocationPlan {
  readonly id: string;
  readonly sessionId: string;
  readonly signal: AbortSignal | undefined;
  /** Has the engine run the turn; `onAdmitted` is called once the task exists. */
  readonly run: (invocation: Invocation, onAdmitted: () => void) => Promise<Task>;
  readonly cancel: () => void;
}

/**
 * One run of an agent. It advances as its events are consumed; a consumer that stops cancels it.
 * @example for await (const event of invocation) show(event); const { text } = await invocation.result();
 */
export class Invocation implements AsyncIterable<TurnEvent> {
  readonly id: string;
  readonly sessionId: string;
  readonly #plan: InvocationPlan;
  /** The agent is at most two events ahead of the consumer. */
  readonly #channel = new EventChannel<ProgressEvent>(1);
  readonly #output = new TurnOutput();
  readonly #events: AsyncGenerator<TurnEvent>;
  #isAdmitted = false;
  /** The agent was asked in this process. */
  #isTaken = false;
  #isCanceled = false;
  #end: TurnEnd | undefined;
  #error: unknown;

  /** Made by a `Runner`. */
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
    const { kind, parts = [], metadata = {} } = this.#end ?? { kind: 'canceled' };
    return {
      invocationId: this.id,
      sessionId: this.sessionId,
      state: kind,
      parts,
      artifacts: this.#output.artifacts(),
      ...contentOf(this.#output.text(), this.#output.parts()),
      metadata,
      ...(this.#error !== undefined && { error: this.#error }),
    };
  }

  /** Asks the agent to stop. */
  cancel(): void {
    this.#isCanceled = true;
    if (this.#isAdmitted) this.#plan.cancel();
  }

  /** The agent's turn as the engine pulls it: what the agent says waits until it is taken here. */
  async *take(agent: Agent, turn: Turn): AsyncGenerator<TurnEvent> {
    this.#isTaken = true;
    // The engine is about to stop the turn.
    if (this.#isCanceled) await until(new Promise<never>(() => {}), turn.signal);
    const events = drive(agent, turn, this.#output);
    try {
      for (;;) {
        const next = await events.next();
        if (next.done === true) {
          this.#end = next.value;
          this.#error = next.value.error;
          yield next.value;
          return;
        }
        yield next.value;
        await until(this.#channel.push(next.value), turn.signal);
      }
    } finally {
      await events.return({ kind: 'canceled' });
    }
  }

  async *#run(): AsyncGenerator<TurnEvent> {
    const { signal, run } = this.#plan;
    const follow = (): void => this.cancel();
    if (signal?.aborted === true) follow();
    else signal?.addEventListener('abort', follow, { once: true });
    const running = run(this, () => {
      this.#isAdmitted = true;
      if (this.#isCanceled) this.cancel();
    });
    let isOver = false;
    try {
      const over = running.finally(() => {
        isOver = true;
      });
      yield this.#conclude(yield* this.#channel.during(over));
    } finally {
      signal?.removeEventListener('abort', follow);
      if (!isOver) {
        this.cancel();
        this.#conclude(await running);
      }
    }
  }

  /** The end as it was stored: a stop, or the engine's limits, may have overruled the agent's. */
  #conclude(task: Task): TurnEnd {
    const kind = endKindOf(task.status.state) ?? 'completed';
    if (this.#end?.kind === kind) return this.#end;
    const { artifacts = [], status, metadata } = task;
    // A run that ended elsewhere is known by its task only.
    if (!this.#isTaken) for (const artifact of artifacts) this.#output.add(artifact);
    const parts = status.message?.parts;
    this.#end = { kind, ...(parts && { parts }), ...(metadata && { metadata }) };
    this.#output.add(this.#end);
    return this.#end;
  }
}
