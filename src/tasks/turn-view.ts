import { type ContextState, type Turn, type TurnRecords, turnRecords } from '../agents/index.ts';
import { isJsonObject, type JsonObject, type Message } from '../protocol/index.ts';
import type { RecordWrite, TurnRecord } from '../store/index.ts';
import type { EngineSettings } from './options.ts';
import { retryWhileUnavailable } from './scheduler.ts';
import type { TurnRunOptions } from './turn-run.ts';

/** What log lines call a turn: the task, and which of its turns. */
export function turnIdOf({ taskId, id }: TurnRecord): string {
  return `${taskId}.${id}`;
}

/** A turn as its agent sees it. Made after the present message was noted in the task's history. */
export class TurnView implements Turn {
  readonly message: Message;
  readonly taskId: string;
  readonly contextId: string;
  readonly attempt: number;
  readonly turnId: string;
  readonly isContinuation: boolean;
  readonly #options: TurnRunOptions;
  /** Messages in the task's history before the present one. */
  readonly #earlier: number;
  /** Made when somebody listens: most turns end without. */
  #controller: AbortController | undefined;
  #stopped: Error | undefined;
  /** Made when the agent asks for it. */
  #kept: TurnRecords | undefined;

  constructor(options: TurnRunOptions) {
    const { task, turn, request, message } = options;
    this.#options = options;
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

  /** What session and journal leave to be written with the end of the turn. */
  async writes(): Promise<readonly RecordWrite[]> {
    return (await this.#kept?.writes()) ?? [];
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

  /** Tells the agent to stop. */
  abort(reason: Error): void {
    this.#stopped = reason;
    this.#controller?.abort(reason);
  }
}

/** What an agent has kept of a conversation. */
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
