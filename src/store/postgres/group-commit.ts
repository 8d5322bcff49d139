import { clearImmediate, setImmediate } from 'node:timers';
import type { Client } from 'pg';
import type { LegateError } from '../../protocol/index.ts';
import { retry } from '../../time/index.ts';
import { closed, isBreak, isLostRace, overrun, storeFailure, unanswered } from './failure.ts';
import { StoreMeter } from '../store-meter.ts';
import { Link, type Place } from './link.ts';
import { type Batch, type Call, type Operation, toCalls } from './batch.ts';
import { corked, deadline, type Row, send, type Statement, type Value } from './statement.ts';
import type { TrafficCount } from './open-postgres.ts';

/**
 * The locks of an operation. A transaction takes them in order up front, so that its operations never
 * deadlock.
 */
export interface Locks {
  readonly key?: string;
  /** The key of this turn. */
  readonly turn?: number;
  /** The keys of this task's turns. */
  readonly taskId?: string;
}

interface Waiting extends Operation {
  readonly locks: Locks;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: Error) => void;
}

/** Maximum operations of one transaction, which holds their locks until it commits. */
const groupLimit = 64;
/** Maximum waiting operations. Further operations are refused. */
const waitingLimit = 10_000;
/** Maximum attempts of an operation that loses races. */
const raceLimit = 10;

const begin: Statement = { name: 'begin', text: 'BEGIN' };
const commit: Statement = { name: 'commit', text: 'COMMIT' };
const lockAll: Statement = { name: 'lock_all', text: 'SELECT legate.lock_all($1, $2, $3)' };

/**
 * Groups the writes of one event loop iteration, and writes that arrive while others are in flight,
 * into one transaction and one round trip, so that they share one flush of the disk. Consecutive calls
 * of one function share a statement, too. Writes are executed in order; each settles after the commit.
 *
 * - **idle**: no operation waits.
 * - **gathering**: operations wait for the end of the event loop iteration.
 * - **writing**: one group is in flight; further operations wait for its end.
 * - **closed**: waiting operations were written; new operations are refused.
 *
 * When an operation fails, the transaction is rolled back and every operation runs again in its own
 * transaction, so that only the faulty operation fails. When the connection breaks, all of them fail,
 * because it is unknown whether they were committed.
 */
export class GroupCommit {
  readonly #place: Place;
  readonly #link: Link;
  readonly #answerMs: number;
  readonly #traffic: TrafficCount;
  readonly #meter = new StoreMeter('postgres');
  readonly #onFailure: ((failure: LegateError) => void) | undefined;
  #waiting: Waiting[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    place: Place,
    options: {
      readonly waitMs: number;
      readonly answerMs: number;
      readonly traffic: TrafficCount;
      /** Called with every write that failed. */
      readonly onFailure?: (failure: LegateError) => void;
    },
  ) {
    this.#place = place;
    this.#onFailure = options.onFailure;
    this.#link = new Link(place, options);
    this.#answerMs = options.answerMs;
    this.#traffic = options.traffic;
  }

  async open(): Promise<void> {
    await this.#link.client();
  }

  write(
    statement: Statement | Batch,
    values: readonly Value[],
    locks: Locks = {},
  ): Promise<readonly Row[]> {
    const waiting = (): Promise<readonly Row[]> =>
      new Promise((resolve, reject) => {
        if (this.#isClosed || this.#waiting.length >= waitingLimit) {
          reject((this.#isClosed ? closed : overrun)(this.#place.name));
          return;
        }
        this.#waiting.push({ statement, values, locks, resolve, reject });
        if (this.#writing === undefined) {
          this.#immediate ??= setImmediate(() => {
            this.#immediate = undefined;
            this.#writing = this.#drain();
          });
        }
      });
    return this.#meter.measure('write', waiting);
  }

  /** The number of writes that wait for a transaction. */
  get pending(): number {
    return this.#waiting.length;
  }

  get isConnected(): boolean {
    return this.#link.isOpen;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#immediate !== undefined) {
      clearImmediate(this.#immediate);
      this.#immediate = undefined;
      this.#writing = this.#drain();
    }
    await this.#writing;
    await this.#link.close();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, groupLimit);
      this.#meter.group(group.length);
      try {
        await this.#writeGroup(group);
      } catch (error) {
        for (const operation of group) this.#fail(operation, error);
      }
    }
    this.#writing = undefined;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const failure = await this.#attempt(group);
    if (failure === undefined) return;
    if (group.length > 1) {
      for (const each of group) await this.#writeAlone(each);
    } else {
      for (const each of group) await this.#writeAlone(each, failure);
    }
  }

  async #writeAlone(operation: Waiting, before?: unknown): Promise<void> {
    const write = async (attempt: number): Promise<void> => {
      const isKnown = attempt === 1 && before !== undefined;
      const failure = isKnown ? before : await this.#attempt([operation]);
      if (failure !== undefined) throw failure;
    };
    try {
      await retry(write, {
        // Jitter, so that two conflicting operations do not collide again.
        delays: (failures) => (failures < raceLimit ? Math.random() * 2 ** failures : undefined),
        isRetryable: isLostRace,
      });
    } catch (failure) {
      this.#fail(operation, failure);
    }
  }

  #fail({ reject }: Waiting, thrown: unknown): void {
    const failure = storeFailure(this.#place.name, thrown);
    this.#onFailure?.(failure);
    reject(failure);
  }

  /** Settles the group, or returns the error that rolled it back. */
  async #attempt(group: readonly Waiting[]): Promise<unknown> {
    const client = await this.#link.client();
    const outcome = await this.#send(client, group);
    if (outcome.isBroken) throw unanswered(this.#place.name, outcome.failure);
    if (outcome.failure !== undefined) return outcome.failure;
    for (const [index, { resolve }] of group.entries()) resolve(outcome.results[index] ?? []);
    return undefined;
  }

  #send(
    client: Client,
    group: readonly Waiting[],
  ): Promise<{ results: (readonly Row[])[]; failure: unknown; isBroken: boolean }> {
    const calls = toCalls(group);
    this.#traffic.roundTrips += 1;
    this.#traffic.transactions += 1;
    return new Promise((resolve) => {
      const results: (readonly Row[])[] = [];
      let failure: unknown;
      const timeout = deadline(this.#answerMs, () => this.#link.cut(client));
      const fail = (error: Error | undefined): void => {
        // Later failures only report that the transaction was aborted.
        failure ??= error;
      };
      const end = (error: Error | undefined): void => {
        timeout.end();
        fail(error);
        // The last statement decides: if its response arrived, so did all earlier ones.
        resolve({ results, failure, isBroken: error !== undefined && isBreak(error) });
      };
      corked(client, () => {
        const write = ({ statement, values, isBatch }: Call, done: (error?: Error) => void): void =>
          send(client, statement, values, this.#place, (error, rows) => {
            results.push(...(isBatch ? rows.map((row) => [row]) : [rows]));
            done(error);
          });
        if (group.length === 1 && calls[0] !== undefined) {
          this.#traffic.statements += 1;
          write(calls[0], end);
          return;
        }
        this.#traffic.statements += calls.length + 3;
        send(client, begin, [], this.#place, fail);
        send(client, lockAll, toLockValues(group), this.#place, fail);
        for (const call of calls) write(call, fail);
        send(client, commit, [], this.#place, end);
      });
    });
  }
}

function toLockValues(group: readonly Waiting[]): Value[] {
  const keys: string[] = [];
  const turns: number[] = [];
  const taskIds: string[] = [];
  for (const { locks } of group) {
    if (locks.key !== undefined) keys.push(locks.key);
    if (locks.turn !== undefined) turns.push(locks.turn);
    if (locks.taskId !== undefined) taskIds.push(locks.taskId);
  }
  return [keys, turns, taskIds];
}
