import { Json, type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Invocation } from './invocation.ts';

const space = 'invocations';
const pageSize = 200;
const attempts = 20;
const day = 24 * 60 * 60 * 1000;

/** The invocations of one agent, in the store: an answer finds its question after any restart. */
export class InvocationStore {
  readonly #records: RecordStore;
  readonly #prefix: string;
  readonly #clock: { now(): number };

  constructor(records: RecordStore, agent: string, clock: { now(): number }) {
    this.#records = records;
    this.#prefix = `${agent}\n`;
    this.#clock = clock;
  }

  async find(id: string): Promise<Invocation | undefined> {
    const stored = await this.#records.get(space, this.#prefix + id, this.#clock.now());
    return stored?.value.value as unknown as Invocation | undefined;
  }

  /** False when there is one of this id already. */
  create(invocation: Invocation): Promise<boolean> {
    return this.#write(invocation, 0);
  }

  /**
   * Changes an invocation; the change sees it as it is now, and is made again when others change it
   * meanwhile. Undefined from the change leaves it alone. Resolves with what there is in the end.
   */
  async change(
    id: string,
    change: (invocation: Invocation) => Invocation | undefined,
  ): Promise<{ readonly invocation: Invocation; readonly isChanged: boolean } | undefined> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const stored = await this.#records.get(space, this.#prefix + id, this.#clock.now());
      if (stored === undefined) return undefined;
      const invocation = stored.value.value as unknown as Invocation;
      const changed = change(invocation);
      if (changed === undefined) return { invocation, isChanged: false };
      if (await this.#write(changed, stored.version))
        return { invocation: changed, isChanged: true };
    }
    throw new LegateError('UNAVAILABLE', `invocation ${id} is being changed by others; try again`);
  }

  async all(): Promise<readonly Invocation[]> {
    const found: Invocation[] = [];
    let after: string | undefined;
    do {
      const page = await this.#records.list({
        space,
        prefix: this.#prefix,
        limit: pageSize,
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      for (const { value } of page) found.push(value.value as unknown as Invocation);
      after = page.length < pageSize ? undefined : page.at(-1)?.key;
    } while (after !== undefined);
    return found;
  }

  #write(invocation: Invocation, ifVersion: number): Promise<boolean> {
    const now = this.#clock.now();
    // One that is over is kept for answers that come late.
    const expiresAt = (invocation.state === 'ended' ? now : invocation.deadline) + day;
    const value = Json.of<JsonValue>(invocation as unknown as JsonObject);
    const write = { space, key: this.#prefix + invocation.id, value, expiresAt, ifVersion };
    return this.#records.write([write], now);
  }
}
