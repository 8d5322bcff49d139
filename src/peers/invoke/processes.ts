import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Scheduler, Timer } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';

const space = 'invokers';
/** How long a process counts as alive after its last sign of life, in milliseconds. */
const leaseMs = 15_000;
const renewMs = 5_000;
const mostProcesses = 1_000;

export interface ProcessesOptions {
  readonly records: RecordStore;
  /** The agent whose processes these are. */
  readonly agent: string;
  /** Whether others may use the same store at the same time; else nobody but us is alive. */
  readonly isShared: boolean;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /**
   * Takes over what processes that are gone left behind. Asked again, every few seconds, until it
   * says true: all of it is taken over.
   */
  readonly onGone: (processes: ReadonlySet<string>) => Promise<boolean>;
}

/**
 * The processes of one agent that call peers over one store. Each gives a sign of life every few
 * seconds, so that the others leave alone what it has in hand, and go on with it when it is gone.
 */
export class Processes {
  /** Of this process. */
  readonly id: string;
  readonly #options: ProcessesOptions;
  #others: ReadonlySet<string> = new Set();
  /** Processes that are gone and have left something that is not taken over yet. */
  #gone: ReadonlySet<string> = new Set();
  /** Whether something else than the above is to be taken over again. */
  #isOwing = false;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: ProcessesOptions) {
    this.#options = options;
    this.id = options.scheduler.uuid();
  }

  async start(): Promise<void> {
    if (!this.#options.isShared) return;
    await this.#signal();
    this.#others = await this.#list();
    this.#again();
  }

  async stop(): Promise<void> {
    const { records, scheduler, isShared } = this.#options;
    this.#isStopped = true;
    this.#timer?.cancel();
    if (isShared) await records.write([{ space, key: this.#key(this.id) }], scheduler.now());
  }

  /** Something could not be taken over: asks again in a few seconds. */
  owe(): void {
    this.#isOwing = true;
    if (!this.#options.isShared) this.#again();
  }

  /** Whether a process other than this one has something in hand still. */
  isAnother(id: string | undefined): boolean {
    return id !== undefined && id !== this.id && this.#others.has(id);
  }

  #again(): void {
    const { scheduler, logger } = this.#options;
    if (this.#isStopped) return;
    this.#timer = scheduler.after(renewMs, () => {
      this.#look()
        .catch((error: unknown) => logger.warn({ error }, 'peers.processes.not_seen'))
        .finally(() => {
          if (this.#options.isShared || this.#isOwing) this.#again();
        });
    });
  }

  async #look(): Promise<void> {
    if (this.#options.isShared) {
      await this.#signal();
      const before = this.#others;
      this.#others = await this.#list();
      this.#gone = this.#gone.union(before).difference(this.#others);
    }
    if (this.#isStopped || (this.#gone.size === 0 && !this.#isOwing)) return;
    if (!(await this.#options.onGone(this.#gone))) return;
    this.#gone = new Set();
    this.#isOwing = false;
  }

  async #signal(): Promise<void> {
    const { records, scheduler } = this.#options;
    const now = scheduler.now();
    const value = Json.of<JsonValue>(true);
    const expiresAt = now + leaseMs;
    await records.write([{ space, key: this.#key(this.id), value, expiresAt }], now);
  }

  async #list(): Promise<ReadonlySet<string>> {
    const { records, scheduler } = this.#options;
    const prefix = this.#key('');
    const now = scheduler.now();
    const page = await records.list({ space, prefix, limit: mostProcesses, now });
    const ids = page.map(({ key }) => key.slice(prefix.length));
    return new Set(ids.filter((id) => id !== this.id));
  }

  #key(id: string): string {
    return `${this.#options.agent}\n${id}`;
  }
}
