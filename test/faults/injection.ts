import type { Random } from './random.ts';

/** A fault by what causes it; resolves once what it disturbed is back. */
export interface Fault {
  readonly cause: () => Promise<void>;
  /** How often it is picked, compared with the others. @default 1 */
  readonly weight?: number;
}

/**
 * Causes faults one after the other, at times and in an order that the random numbers decide: each of them
 * once before any comes again.
 */
export class Injection {
  readonly counts: Record<string, number>;
  readonly #faults: Readonly<Record<string, Fault>>;
  readonly #random: Random;
  readonly #work: Promise<void>;
  #isOver = false;

  constructor(options: {
    readonly random: Random;
    readonly faults: Readonly<Record<string, Fault>>;
  }) {
    this.#faults = options.faults;
    this.#random = options.random;
    this.counts = Object.fromEntries(Object.keys(options.faults).map((name) => [name, 0]));
    this.#work = this.#inject();
  }

  /** Resolves once every fault was caused, and everything is back. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #inject(): Promise<void> {
    const names = Object.entries(this.#faults).flatMap(([name, { weight = 1 }]) =>
      Array.from({ length: weight }, () => name),
    );
    const first = new Set(names);
    while (!this.#isOver || first.size > 0) {
      await pause(this.#random.between(300, 1_500));
      const name = this.#random.pick(first.size > 0 ? [...first] : names);
      first.delete(name);
      this.counts[name] = (this.counts[name] ?? 0) + 1;
      await this.#faults[name]?.cause();
    }
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}
