import {
  type ContextState,
  noPeers,
  type Step,
  StepLog,
  type Turn,
  type TurnRecords,
  turnRecords,
} from '../agents/index.ts';
import { isJsonObject, type JsonObject, type Message } from '../protocol/index.ts';
import type { RecordWrite, TurnRecord } from '../store/index.ts';
import type { EngineSettings } from './options.ts';
import { retryWhileUnavailable } from './scheduler.ts';
import type { TurnRunOptions } from './turn-run.ts';

/** The id of a turn in log lines: the id of its task, and its number. */
export function turnIdOf({ taskId, id }: TurnRecord): string {
  return `${taskId}.${id}`;
}

const maxStepAgeMs = 7 * 24 * 60 * 60 * 1000;

/** A turn as its agent sees it. Created after the current message was added to the task's history. */
export class TurnView implements Turn {
  readonly message: Message;
  readonly taskId: string;
  readonly contextId: string;
  readonly attempt: number;
  readonly turnId: string;
  readonly isContinuation: boolean;
  /** `withPeers` sets it. */
  readonly peers = noPeers;
  readonly #options: TurnRunOptions;
  /** Number of messages in the task's history before the current one. */
  readonly #earlier: number;
  /** Created for the first listener: most turns have none. */
  #controller: AbortController | undefined;
  #stopped: Error | undefined;
  /** Created when the agent first uses it. */
  #kept: TurnRecords | undefined;
  #steps: StepLog | undefined;
  readonly #onStep: ((step: Step) => void) | undefined;

  /** `onStep` is called when a step of the agent starts or ends. */
  constructor(options: TurnRunOptions, onStep?: (step: Step) => void) {
    const { task, turn, request, message } = options;
    this.#options = options;
    this.#onStep = onStep;
    this.message = message;
    this.taskId = task.id;
    this.contextId = task.contextId;
    this.attempt = turn.attempt;
    this.turnId = turnIdOf(turn);
    this.isContinuation = request.message !== undefined;
    this.#earlier = Math.max(0, task.history.length - 1);
  }

  get caller(): Turn['caller'] {
    return this.#options.request.caller;
  }

  get metadata(): JsonObject {
    return this.#options.request.metadata ?? {};
  }

  get acceptedOutputModes(): readonly string[] {
    return this.#options.request.acceptedOutputModes;
  }

  get extensions(): readonly string[] {
    return this.#options.request.extensions;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopped !== undefined) this.#controller.abort(this.#stopped);
    }
    return this.#controller.signal;
  }

  get clock(): Turn['clock'] {
    return this.#options.settings.scheduler;
  }

  get logger(): Turn['logger'] {
    const { taskId, contextId, turnId } = this;
    return this.#options.settings.logger.child({ taskId, contextId, turnId });
  }

  get state(): ContextState {
    const { owner, settings } = this.#options;
    return contextState(settings, owner, this.contextId);
  }

  get session(): Turn['session'] {
    return this.#records.session;
  }

  get journal(): Turn['journal'] {
    return this.#options.settings.agent.onInterrupted === 'run-again'
      ? this.#records.journal
      : undefined;
  }

  get steps(): Turn['steps'] {
    const { settings } = this.#options;
    if (settings.steps === 'off') return undefined;
    const { store, scheduler, retentionMs } = settings;
    this.#steps ??= new StepLog({
      records: store.records,
      taskId: this.taskId,
      messageId: this.message.messageId,
      attempt: this.attempt,
      clock: scheduler,
      logger: this.logger,
      keepMs: Math.min(retentionMs > 0 ? retentionMs : maxStepAgeMs, maxStepAgeMs),
      defer: (callback) => scheduler.defer(callback),
      onStep: this.#onStep,
    });
    return this.#steps;
  }

  /** The writes of session, journal and steps, for the transaction that ends the turn. */
  async writes(): Promise<readonly RecordWrite[]> {
    if (this.#kept === undefined && this.#steps === undefined) return [];
    const kept = (await this.#kept?.writes()) ?? [];
    const steps = (await this.#steps?.writes()) ?? [];
    return [...kept, ...steps];
  }

  get #records(): TurnRecords {
    const { settings, request, turn } = this.#options;
    this.#kept ??= turnRecords({
      records: settings.store.records,
      agent: settings.agent.name,
      caller: request.caller,
      contextId: this.contextId,
      taskId: this.taskId,
      messageId: this.message.messageId,
      attempt: turn.attempt,
      isRepeatable: settings.agent.onInterrupted === 'run-again',
      clock: settings.scheduler,
    });
    return this.#kept;
  }

  async history(): Promise<readonly Message[]> {
    return this.#options.task.history.slice(0, this.#earlier);
  }

  /** Aborts the agent's signal. */
  abort(reason: Error): void {
    this.#stopped = reason;
    this.#controller?.abort(reason);
  }
}

/** The state of a conversation that its agent has stored. */
export function contextState(
  { store, scheduler }: Pick<EngineSettings, 'store' | 'scheduler'>,
  owner: string,
  contextId: string,
): ContextState {
  return {
    load: async () => {
      const context = await retryWhileUnavailable(scheduler, () =>
        store.loadContext(owner, contextId),
      );
      const value = context?.value?.value;
      return isJsonObject(value) ? value : undefined;
    },
    log: async (options) => {
      const entries = await retryWhileUnavailable(scheduler, () =>
        store.readContextLog(owner, contextId, options?.last),
      );
      return entries.map(({ value }) => value).filter(isJsonObject);
    },
  };
}
