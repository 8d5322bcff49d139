import { LegateError } from '../../src/protocol/index.ts';
import type { PushStore, RecordStore, Store } from '../../src/store/index.ts';
import type { StoreConditions } from './conditions.ts';
import type { History } from './history.ts';
import type { Ledger } from './ledger/ledger.ts';
import { briefInput, briefResult } from './brief.ts';
import type { Random } from './random.ts';
import type { Lane } from './virtual-time.ts';

export interface FaultyStoreOptions {
  readonly inner: Store;
  readonly replica: string;
  /** The time of the process that calls. */
  readonly lane: Lane;
  /** The time of the database, which continues when the process does not. */
  readonly database: Lane;
  readonly conditions: StoreConditions;
  readonly ledger: Ledger;
  readonly history: History;
  readonly random: Random;
}

type Of<K extends keyof Store> = Store[K] extends (...input: infer Input) => infer Output
  ? { readonly input: Input; readonly output: Output }
  : never;

/**
 * A store across a network that is not to be trusted: calls take time each way and may overtake one
 * another, fail before or after they took effect, and notices are late, lost or repeated. A call of a
 * process that died meanwhile still takes effect; its answer reaches nobody.
 */
export class FaultyStore implements Store {
  readonly driver = 'memory';
  readonly shared = true;
  readonly clock: Store['clock'];
  readonly health: Store['health'];
  readonly commands: Store['commands'];
  readonly push: PushStore;
  readonly records: RecordStore;
  readonly vectors: Store['vectors'];
  /** Times that a task or its log was read. */
  reads = 0;
  readonly #options: FaultyStoreOptions;
  readonly #unwatch = new Set<() => void>();

  constructor(options: FaultyStoreOptions) {
    this.#options = options;
    const { inner, ledger } = options;
    const { commands, push, records } = inner;
    this.clock = inner.clock;
    this.health = inner.health;
    this.vectors = inner.vectors;
    this.commands = {
      queue: (...input) => this.#call('commands.queue', () => commands.queue(...input), input),
      end: (...input) => this.#call('commands.end', () => commands.end(...input), input),
      drop: (...input) => this.#call('commands.drop', () => commands.drop(...input), input),
    };
    this.push = {
      put: (taskId, registration) =>
        this.#call(
          'push.put',
          () => push.put(taskId, registration),
          [taskId],
          () => {
            const task = ledger.logs.get(taskId);
            if (task !== undefined) ledger.deliveries.register(task, registration.config.id);
          },
        ),
      get: (...input) => this.#call('push.get', () => push.get(...input), input),
      list: (...input) => this.#call('push.list', () => push.list(...input), input),
      delete: (...input) =>
        this.#call(
          'push.delete',
          () => push.delete(...input),
          input,
          () => ledger.deliveries.remove(...input),
        ),
      claim: (...input) => this.#call('push.claim', () => push.claim(...input), input),
      settle: (...input) => this.#call('push.settle', () => push.settle(...input), input),
      nextDueMs: () => this.#call('push.nextDueMs', () => push.nextDueMs(), []),
      deliveries: (...input) =>
        this.#call('push.deliveries', () => push.deliveries(...input), input),
      counts: () => this.#call('push.counts', () => push.counts(), []),
      revive: (...input) => this.#call('push.revive', () => push.revive(...input), input),
    };
    this.records = {
      clock: records.clock,
      get: (...input) => this.#call('records.get', () => records.get(...input), input),
      write: (...input) => this.#call('records.write', () => records.write(...input), input),
      list: (...input) => this.#call('records.list', () => records.list(...input), input),
      increment: (...input) =>
        this.#call('records.increment', () => records.increment(...input), input),
    };
  }

  admit(...input: Of<'admit'>['input']): Of<'admit'>['output'] {
    const { inner, ledger } = this.#options;
    return this.#call(
      'admit',
      () => inner.admit(...input),
      input,
      (outcome) => ledger.admit(...input, outcome),
    );
  }

  counts(...input: Of<'counts'>['input']): Of<'counts'>['output'] {
    return this.#call('counts', () => this.#options.inner.counts(...input), input);
  }

  append(...input: Of<'append'>['input']): Of<'append'>['output'] {
    const { inner, ledger } = this.#options;
    return this.#call(
      'append',
      () => inner.append(...input),
      input,
      (outcome) => ledger.append(...input, outcome),
    );
  }

  load(...input: Of<'load'>['input']): Of<'load'>['output'] {
    this.reads += 1;
    return this.#call('load', () => this.#options.inner.load(...input), input);
  }

  readEvents(...input: Of<'readEvents'>['input']): Of<'readEvents'>['output'] {
    this.reads += 1;
    return this.#call('readEvents', () => this.#options.inner.readEvents(...input), input);
  }

  list(...input: Of<'list'>['input']): Of<'list'>['output'] {
    return this.#call('list', () => this.#options.inner.list(...input), input);
  }

  requestCancel(taskId: string): Of<'requestCancel'>['output'] {
    const { inner, ledger } = this.#options;
    return this.#call(
      'requestCancel',
      () => inner.requestCancel(taskId),
      [taskId],
      (wish) => ledger.requestCancel(taskId, wish !== undefined),
    );
  }

  cancelRequests(...input: Of<'cancelRequests'>['input']): Of<'cancelRequests'>['output'] {
    return this.#call('cancelRequests', () => this.#options.inner.cancelRequests(...input), input);
  }

  loadTurn(...input: Of<'loadTurn'>['input']): Of<'loadTurn'>['output'] {
    return this.#call('loadTurn', () => this.#options.inner.loadTurn(...input), input);
  }

  loadContext(...input: Of<'loadContext'>['input']): Of<'loadContext'>['output'] {
    return this.#call('loadContext', () => this.#options.inner.loadContext(...input), input);
  }

  listContexts(...input: Of<'listContexts'>['input']): Of<'listContexts'>['output'] {
    return this.#call('listContexts', () => this.#options.inner.listContexts(...input), input);
  }

  readContextLog(...input: Of<'readContextLog'>['input']): Of<'readContextLog'>['output'] {
    return this.#call('readContextLog', () => this.#options.inner.readContextLog(...input), input);
  }

  deleteContext(...input: Of<'deleteContext'>['input']): Of<'deleteContext'>['output'] {
    return this.#call('deleteContext', () => this.#options.inner.deleteContext(...input), input);
  }

  heartbeat(replica: string, leaseMs: number): Promise<void> {
    const { inner, ledger } = this.#options;
    return this.#call(
      'heartbeat',
      () => inner.heartbeat(replica, leaseMs),
      [replica],
      () => ledger.turns.heartbeat(replica, inner.clock.now() + leaseMs),
    );
  }

  retire(replica: string): Promise<void> {
    const { inner, ledger } = this.#options;
    return this.#call(
      'retire',
      () => inner.retire(replica),
      [replica],
      () => ledger.turns.retire(replica),
    );
  }

  deadReplicas(...input: Of<'deadReplicas'>['input']): Of<'deadReplicas'>['output'] {
    return this.#call('deadReplicas', () => this.#options.inner.deadReplicas(...input), input);
  }

  takeOver(...input: Of<'takeOver'>['input']): Of<'takeOver'>['output'] {
    const { inner, ledger } = this.#options;
    const [{ replica, sparesExpired = false }] = input;
    return this.#call(
      'takeOver',
      () => inner.takeOver(...input),
      input,
      (turns) => ledger.turns.takeOver(replica, sparesExpired ? 0 : inner.clock.now(), turns),
    );
  }

  release(turn: Of<'release'>['input'][0]): Promise<void> {
    const { inner, ledger } = this.#options;
    return this.#call(
      'release',
      () => inner.release(turn),
      [turn],
      () => ledger.turns.release(turn.id, turn.replica),
    );
  }

  sweep(...input: Of<'sweep'>['input']): Of<'sweep'>['output'] {
    return this.#call('sweep', () => this.#options.inner.sweep(...input), input);
  }

  follow(...input: Of<'follow'>['input']): () => void {
    return this.#options.inner.follow(...input);
  }

  watch(listener: Of<'watch'>['input'][0]): () => void {
    const { inner, lane, conditions, random } = this.#options;
    const unwatch = inner.watch((notice) => {
      if (random.chance(conditions.lostNotices)) return;
      const copies = random.chance(conditions.repeatedNotices) ? 2 : 1;
      for (let copy = 0; copy < copies; copy += 1) {
        lane.after(this.#latency(), () => {
          if (this.#unwatch.has(unwatch)) listener(notice);
        });
      }
    });
    this.#unwatch.add(unwatch);
    return () => {
      this.#unwatch.delete(unwatch);
      unwatch();
    };
  }

  /** The process is gone, and its connections with it. */
  async close(): Promise<void> {
    for (const unwatch of this.#unwatch) unwatch();
    this.#unwatch.clear();
  }

  #latency(): number {
    const { random, conditions } = this.#options;
    return random.next() * 2 * conditions.factor;
  }

  #call<T>(
    name: string,
    work: () => Promise<T>,
    input: readonly unknown[],
    witness?: (result: T) => void,
  ): Promise<T> {
    const { lane, database, conditions, random, history, replica } = this.#options;
    const fails = random.chance(conditions.failing);
    const isLate = fails && random.chance(conditions.late);
    return new Promise<T>((resolve, reject) => {
      const answer = (settle: () => void): void => void lane.after(this.#latency(), settle);
      const failed = (): void => reject(storeFailed(name));
      const act = (): void => {
        if (fails && !isLate) {
          history.note(replica, () => `${name} ${briefInput(input)} fails`);
          answer(failed);
          return;
        }
        work().then(
          (result) => {
            witness?.(result);
            if (isLate || !isUpkeep(name, result)) {
              history.note(replica, () => {
                const end = isLate ? ', and the answer is lost' : '';
                return `${name} ${briefInput(input)} -> ${briefResult(result)}${end}`;
              });
            }
            answer(isLate ? failed : () => resolve(result));
          },
          (error: Error) => answer(() => reject(error)),
        );
      };
      // Half of the calls reach the database at once, which costs a step less.
      if (random.chance(0.5)) act();
      else database.after(this.#latency(), act);
    });
  }
}

function storeFailed(name: string): LegateError {
  return new LegateError('STORE_FAILED', `the simulated store failed: ${name}`);
}

/** Calls that continue all the time and tell nothing. */
function isUpkeep(name: string, result: unknown): boolean {
  const isNothing = Array.isArray(result) && result.length === 0;
  return isNothing || name === 'heartbeat' || name === 'push.nextDueMs' || name === 'sweep';
}
