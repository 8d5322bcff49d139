import type { DeliveryAnswer, DeliveryTransport } from '../../src/push/index.ts';
import type { Conditions } from './conditions.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Random } from './random.ts';
import type { Lane } from './virtual-time.ts';

export interface WebhooksOptions {
  readonly conditions: Conditions;
  readonly ledger: Ledger;
  readonly random: Random;
  /** The time of the receivers. */
  readonly outside: Lane;
}

/** The receivers of push notifications, and the network before them. */
export class Webhooks {
  /** Calls that reached a receiver. */
  arrived = 0;
  readonly #options: WebhooksOptions;

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  /** The way to them from one process, whose time passes on the way back. */
  from(lane: Lane): DeliveryTransport {
    const { conditions, random, outside } = this.#options;
    return {
      send: (_url, { headers, body, signal }) =>
        new Promise<DeliveryAnswer>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          const fails = random.chance(conditions.failingWebhooks);
          const way = fails ? random.integer(0, 3) : -1;
          outside.after(random.between(0, 3), () => {
            // The call is lost, or refused; or taken, and the answer lost or late.
            if (way === 0) return;
            if (way !== 1) this.#take(headers, body);
            if (way === 2) return;
            const delay = random.between(0, way === 3 ? 800 : 3);
            const status = way === 1 ? 503 : 204;
            lane.after(delay, () => resolve({ status, retryAfter: undefined }));
          });
        }),
      close() {},
    };
  }

  #take(headers: Readonly<Record<string, string>>, body: string | Uint8Array | undefined): void {
    this.arrived += 1;
    const [taskId = '', configId = '', sequence] = (headers['idempotency-key'] ?? '').split('/');
    const is10 = headers['a2a-version'] === '1.0';
    this.#options.ledger.deliveries.arrive(
      taskId,
      configId,
      Number(sequence),
      is10 && typeof body === 'string' ? body : undefined,
    );
  }
}
