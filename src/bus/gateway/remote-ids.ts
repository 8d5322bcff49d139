import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';

const space = 'gateway-tasks';
const thirtyDays = 30 * 24 * 60 * 60 * 1000;

/** Which task of an agent stands behind a task of the gateway. */
export class RemoteIds {
  readonly #records: RecordStore;
  readonly #clock: { now(): number };

  constructor(records: RecordStore, clock: { now(): number }) {
    this.#records = records;
    this.#clock = clock;
  }

  async find(taskId: string): Promise<string | undefined> {
    const stored = await this.#records.get(space, taskId, this.#clock.now());
    const value = stored?.value.value;
    return typeof value === 'string' ? value : undefined;
  }

  async keep(taskId: string, remoteId: string): Promise<void> {
    const now = this.#clock.now();
    const value = Json.of<JsonValue>(remoteId);
    await this.#records.write([{ space, key: taskId, value, expiresAt: now + thirtyDays }], now);
  }
}
