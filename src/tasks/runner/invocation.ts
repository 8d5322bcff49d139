import {
  type Agent,
  drive,
  type EndKind,
  EventChannel,
  inBranchOrder,
  isPause,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  type ProgressEvent,
} from '../../agents/index.ts';
import {
  type AnswerContent,
  answerOf,
  AnswerText,
  type Artifact,
  errorMessage,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Message,
  type Part,
  type Task,
  taskFailure,
  type TextChange,
} from '../../protocol/index.ts';
import { until } from '../../time/index.ts';
import { endKindOf } from '../agent-events.ts';

/**
 * The outcome of an invocation: an answer, or a question to its user.
 * @example
 * let result: InvocationResult = await runner.run({ message: 'Order two pizzas', userId: 'ada' });
 * while (result.isQuestion) result = await result.answer(prompt(result.text) ?? 'no');
 * console.log(result.state, result.text);
 */
export type InvocationResult<Output = unknown> =
  | InvocationAnswer<Output>
  | InvocationQuestion<Output>;

/**
 * The end of an invocation.
 * @example const reason = ({ state, error }: InvocationAnswer) => (state === 'failed' ? error : undefined);
 */
export interface InvocationAnswer<Output = unknown> extends InvocationContent<Output> {
  readonly isQuestion: false;
}

/**
 * An invocation that waits for its user. `runner.resume` answers it in another process.
 * @example const reply = (question: InvocationQuestion) => question.answer('Large ones');
 */
export interface InvocationQuestion<Output = unknown> extends InvocationContent<Output> {
  readonly isQuestion: true;
  /** Whether the user has to sign in or consent elsewhere first. */
  readonly needsAuthorization: boolean;
  answer(
    content: string | Part | readonly Part[] | Message,
    options?: { readonly signal?: AbortSignal },
  ): Promise<InvocationResult<Output>>;
}

interface InvocationContent<Output> extends Omit<AnswerContent, 'output'> {
  /**
   * The data of the answer, or its text if there is no data. It has the type of the agent's `output` if
   * that has a schema and the state is `completed`.
   */
  readonly output: unknown extends Output ? JsonValue : Output;
  readonly invocationId: string;
  readonly sessionId: string;
  readonly state: EndKind;
  /** The stored task, with the output of its earlier turns. */
  readonly task: Task;
  /** The parts of the last message: the answer, the question or the reason. */
  readonly parts: readonly Part[];
  readonly artifacts: readonly Artifact[];
  readonly metadata: JsonObject;
  /** Why it failed or was rejected. Its `cause` is the agent's error, unless that is a `LegateError`. */
  readonly error?: LegateError;
}

/** How the engine runs an invocation. */
export interface InvocationPlan<Output> {
  readonly id: string;
  readonly sessionId: string;
  readonly signal: AbortSignal | undefined;
  /** Runs the turn in the engine; `onAdmitted` is called once the task exists. */
  readonly run: (invocation: Invocation<Output>, onAdmitted: () => void) => Promise<Task>;
  readonly cancel: () => void;
  /** Continues with an answer to the question of the invocation. */
  readonly answer: InvocationQuestion<Output>['answer'];
}

/**
 * One run of an agent. It advances as its events are consumed. A consumer that stops early cancels it.
 * @example for await (const event of invocation) show(event); const { text } = await invocation.result();
 */
export class Invocation<Output = unknown> implements AsyncIterable<TurnEvent> {
  readonly id: string;
  readonly sessionId: string;
  readonly #plan: InvocationPlan<Output>;
  /** The agent is at most two events ahead of the consumer. */
  readonly #channel = new EventChannel<ProgressEvent>(1);
  readonly #events: AsyncGenerator<TurnEvent>;
  #isAdmitted = false;
  #isCanceled = false;
  #end: TurnEnd | undefined;
  #task: Task | undefined;
  /** The error that the agent threw in this process. */
  #thrown: unknown;
  #error: LegateError | undefined;

  /** Created by a `Runner`. */
  constructor(plan: InvocationPlan<Output>) {
    this.id = plan.id;
    this.sessionId = plan.sessionId;
    this.#plan = plan;
    this.#events = this.#run();
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    return this.#events;
  }

  /** Runs to the end, whether or not its events were consumed before. */
  async result(): Promise<InvocationResult<Output>> {
    for await (const event of this.#events) void event;
    const task = this.#task;
    if (task === undefined) throw new LegateError('INTERNAL', 'the invocation has no task');
    const { kind, parts = [], metadata = {} } = this.#end ?? { kind: 'canceled' };
    const { status, artifacts: made = [] } = task;
    const artifacts = inBranchOrder(made);
    const { output, ...content } = answerOf({ artifacts, status });
    const result: InvocationContent<Output> = {
      invocationId: this.id,
      sessionId: this.sessionId,
      state: kind,
      task,
      parts,
      artifacts,
      ...content,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the agent has checked it with its schema
      output: output as InvocationResult<Output>['output'],
      metadata,
      ...(this.#error !== undefined && { error: this.#error }),
    };
    if (!isPause({ kind })) return { isQuestion: false, ...result };
    const needsAuthorization = kind === 'auth-required';
    return { isQuestion: true, needsAuthorization, ...result, answer: this.#plan.answer };
  }

  /** The changes of its text while it runs; rejects unless it ends with an answer or a question. */
  async *changes(): AsyncGenerator<TextChange, InvocationResult<Output>> {
    const shown = new AnswerText();
    for await (const event of this.#events) {
      const change = changeBy(event, shown);
      if (change !== undefined) yield change;
    }
    const result = await this.result();
    if (result.state === 'completed' || result.isQuestion) return result;
    throw result.error ?? taskFailure(result.task);
  }

  /** Requests the agent to stop. */
  cancel(): void {
    this.#isCanceled = true;
    if (this.#isAdmitted) this.#plan.cancel();
  }

  /** The agent's turn, pulled by the engine. Each event waits until the consumer takes it. */
  async *take(agent: Agent, turn: Turn): AsyncGenerator<TurnEvent> {
    // The engine is about to stop the turn.
    if (this.#isCanceled) await until(new Promise<never>(() => {}), turn.signal);
    const events = drive(agent, turn, undefined, { isTraced: true });
    try {
      for (;;) {
        const next = await events.next();
        if (next.done === true) {
          this.#end = next.value;
          this.#thrown = next.value.error;
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

  /** The stored end, which can differ from the agent's: a stop or a limit of the engine takes precedence. */
  #conclude(task: Task): TurnEnd {
    const kind = endKindOf(task.status.state) ?? 'completed';
    this.#task = task;
    const isFailure = kind === 'failed' || kind === 'rejected';
    this.#error = isFailure ? failureOf(this.#thrown, task) : undefined;
    if (this.#end?.kind === kind) return this.#end;
    const { status, metadata } = task;
    const parts = status.message?.parts;
    this.#end = { kind, ...(parts && { parts }), ...(metadata && { metadata }) };
    return this.#end;
  }
}

/** The error of a failed task, with the error that the agent threw, if it ran in this process. */
function failureOf(thrown: unknown, task: Task): LegateError {
  if (thrown instanceof LegateError) return thrown;
  const reported = taskFailure(task);
  if (thrown === undefined) return reported;
  return new LegateError(reported.code, errorMessage(thrown), {
    cause: thrown,
    ...(reported.metadata !== undefined && { metadata: reported.metadata }),
  });
}

function changeBy(event: TurnEvent, shown: AnswerText): TextChange | undefined {
  if (!('kind' in event)) return shown.artifact(event, false);
  if (event.kind === 'chunk') return shown.artifact(event.artifact, event.append);
  const isSaid = event.kind === 'completed' || event.kind === 'message' || isPauseEnd(event);
  return isSaid ? shown.message({ messageId: 'end', parts: event.parts ?? [] }) : undefined;
}

function isPauseEnd(event: TurnEvent): event is TurnEnd {
  return 'kind' in event && (event.kind === 'input-required' || event.kind === 'auth-required');
}
