import { histogram } from '../telemetry/index.ts';

const seconds = histogram('legate.store.duration');
const sizes = histogram('legate.store.group_size');

/** Measures the durations of store operations, and how many writes share a transaction. */
export class StoreMeter {
  readonly #labels: Readonly<Record<'read' | 'write', Readonly<Record<string, string>>>>;
  readonly #driver: Readonly<Record<string, string>>;

  constructor(driver: 'memory' | 'sqlite' | 'postgres') {
    this.#driver = { driver };
    const label = (operation: string) => ({ driver, operation });
    this.#labels = { read: label('read'), write: label('write') };
  }

  /** A write ends when it is durable. */
  async measure<T>(operation: 'read' | 'write', run: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await run();
    } finally {
      seconds.record((performance.now() - startedAt) / 1000, this.#labels[operation]);
    }
  }

  /** Records the number of writes in one transaction. */
  group(size: number): void {
    sizes.record(size, this.#driver);
  }
}
