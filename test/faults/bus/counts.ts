import { LegateError } from '../../../src/protocol/index.ts';
/** Counts by kind. */
export class Counts {
  readonly values: Record<string, number> = {};

  add(kind: string, by = 1): void {
    this.values[kind] = (this.values[kind] ?? 0) + by;
  }

  get total(): number {
    return Object.values(this.values).reduce((sum, count) => sum + count, 0);
  }
}

/** The answer, or in words why there is none within the time. */
export function answerOf(work: Promise<string | undefined>, milliseconds: number): Promise<string> {
  return new Promise((resolve) => {
    const late = (): void => resolve(`no answer within ${milliseconds} ms`);
    const timer = setTimeout(late, milliseconds);
    work
      .then(
        (answer) => resolve(answer ?? 'an empty answer'),
        (error: unknown) => resolve(`error: ${String(error)}`),
      )
      .finally(() => clearTimeout(timer));
  });
}

/** Whether a sender knows that the broker was away, the only reason for which a task may be refused. */
export function isBrokerAway(error: unknown): boolean {
  return error instanceof LegateError && error.code === 'UNAVAILABLE';
}
