import { hash } from 'node:crypto';
import { Json, type JsonValue } from '../../protocol/index.ts';
import { listRecords, type RecordStore, type RecordWrite } from '../../store/index.ts';
import type { Clock, Journal } from '../agent.ts';

export interface RecordJournalOptions {
  readonly records: RecordStore;
  readonly taskId: string;
  /** The message of the turn: a task has one turn for each message. */
  readonly messageId: string;
  /** On attempt 1, the journal is empty. */
  readonly attempt: number;
  readonly clock: Clock;
}

const space = 'agent-journal';
/** Longer than any turn that can run again. */
const keepMs = 7 * 24 * 60 * 60 * 1000;
const maxKeyLength = 200;

/**
 * A journal in the record store. If two processes run the same turn, the store accepts only one claim.
 */
export class RecordJournal implements Journal {
  readonly #options: RecordJournalOptions;
  readonly #prefix: string;
  #notes: Promise<Map<string, JsonValue>> | undefined;
  /** Whether another process can have written entries. */
  #mayBeForeign: boolean;

  constructor(options: RecordJournalOptions) {
    this.#options = options;
    this.#mayBeForeign = options.attempt > 1;
    this.#prefix = JSON.stringify([options.taskId, options.messageId]);
  }

  async read(key: string): Promise<JsonValue | undefined> {
    return (await this.#load()).get(shorten(key));
  }

  async claim(key: string, value: JsonValue): Promise<boolean> {
    const name = shorten(key);
    const notes = await this.#load();
    if (notes.has(name)) return false;
    const { records, clock } = this.#options;
    const now = clock.now();
    const write = { ...this.#write(name, value, now), ifVersion: 0 };
    if (!(await records.write([write], now))) {
      // Another process runs the same turn: reload its entries.
      this.#mayBeForeign = true;
      this.#notes = undefined;
      return false;
    }
    notes.set(name, value);
    return true;
  }

  async write(key: string, value: JsonValue): Promise<void> {
    const name = shorten(key);
    const { records, clock } = this.#options;
    const now = clock.now();
    await records.write([this.#write(name, value, now)], now);
    (await this.#load()).set(name, value);
  }

  /** Writes that delete all entries, for the transaction that ends the turn. */
  async clearing(): Promise<readonly RecordWrite[]> {
    const notes = await (this.#notes ?? new Map<string, JsonValue>());
    return [...notes.keys()].map((name) => ({ space, key: this.#prefix + name }));
  }

  #write(name: string, value: JsonValue, now: number): RecordWrite {
    return { space, key: this.#prefix + name, value: Json.of(value), expiresAt: now + keepMs };
  }

  #load(): Promise<Map<string, JsonValue>> {
    this.#notes ??= this.#mayBeForeign ? this.#readAll() : Promise.resolve(new Map());
    return this.#notes;
  }

  async #readAll(): Promise<Map<string, JsonValue>> {
    const { records, clock } = this.#options;
    const notes = new Map<string, JsonValue>();
    for await (const { key, value } of listRecords(records, { space, prefix: this.#prefix, clock }))
      notes.set(key.slice(this.#prefix.length), value.value);
    return notes;
  }
}

/** Keys can contain text of models or callers; long ones are replaced by their digest. */
function shorten(key: string): string {
  return key.length <= maxKeyLength ? key : hash('sha256', key, 'base64url');
}
