import { LegateError } from '../../src/protocol/index.ts';
import type { Engine } from '../../src/tasks/index.ts';
import type { Ledger } from './ledger/ledger.ts';
import { ConnectionLost, type Network } from './network.ts';
import type { Random } from './random.ts';
import type { Report } from './violation.ts';
import type { Lane } from './virtual-time.ts';

/** What a client does when a request did not work out. */
export type Verdict =
  | { readonly kind: 'again' }
  | { readonly kind: 'in-flight'; readonly taskId: string | undefined }
  | { readonly kind: 'ended' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'not-cancelable' };

export interface AttemptsOptions {
  readonly network: Network;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly outside: Lane;
  readonly report: Report;
}

/** Requests of a client over a network that fails, and what it makes of their failures. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  expectNews(at: number | undefined, what: string): void {
    const { ledger, report } = this.#options;
    if (ledger.isOldNews(at))
      report('waiting clients are notified in time', `${what} did not come`);
  }

  request<T>(work: (engine: Engine, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#options.network.request(this.#options.random, work);
  }

  /** Tries until it works. */
  async insist<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.request(work);
      } catch (error) {
        await this.rest(error, this.judge(error), 'again');
      }
    }
  }

  judge(error: unknown): Verdict {
    if (error instanceof ConnectionLost) return { kind: 'again' };
    if (error instanceof LegateError) {
      switch (error.code) {
        case 'STORE_FAILED':
        case 'UNAVAILABLE':
          return { kind: 'again' };
        case 'MESSAGE_IN_FLIGHT':
          return { kind: 'in-flight', taskId: error.metadata?.['taskId'] };
        case 'UNSUPPORTED_OPERATION':
          return { kind: 'ended' };
        case 'TASK_NOT_FOUND':
          return { kind: 'not-found' };
        case 'TASK_NOT_CANCELABLE':
          return { kind: 'not-cancelable' };
        default:
          break;
      }
    }
    this.#options.report(
      'clients get errors that they can act on',
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
    return { kind: 'again' };
  }

  /** Waits a moment before the next try. Whatever is not `expected` is a surprise. */
  async rest(error: unknown, verdict: Verdict, ...expected: Verdict['kind'][]): Promise<void> {
    const { outside, random, report } = this.#options;
    if (!expected.includes(verdict.kind)) {
      report('clients get errors that they can act on', `${verdict.kind}: ${String(error)}`);
    }
    const isPatient = verdict.kind === 'in-flight';
    await outside.sleep(random.between(5, isPatient ? 300 : 100));
  }
}

/** Nothing came, neither an answer nor a failure. */
export function isSilent(error: unknown): boolean {
  return error instanceof ConnectionLost && error.isSilence;
}
