import { z } from 'zod';
import type { JsonObject } from '../../protocol/index.ts';
import { type RecordStore, RecordSpace, type RecordWrite } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';

const line = z.object({
  /** ISO 8601. */
  at: z.string(),
  /** Who made the change: the user's name, `cli`, `inspector`. */
  by: z.string(),
  /** `trust.granted`, `trust.revoked`, `proposal.approved`, ... */
  event: z.string(),
  /** The subject of trust that the change is about. */
  subject: z.string(),
  details: z.custom<JsonObject>().exactOptional(),
});

/**
 * An entry of the audit log: a change of trust, and its author.
 * @example const isOfAlice = ({ subject }: TrustChange) => subject === 'jwt:acme:alice';
 */
export type TrustChange = Readonly<z.infer<typeof line>>;

const year = 365 * 24 * 60 * 60 * 1000;

/**
 * The changes of trust, each written in the transaction of the change.
 * @example
 * const audit = new TrustAudit(store.records, systemScheduler);
 * for (const { at, by, event } of await audit.read({ limit: 20 })) console.log(at, by, event);
 */
export class TrustAudit {
  readonly #lines: RecordSpace<TrustChange>;
  readonly #scheduler: Pick<Scheduler, 'now' | 'uuid'>;
  /** Keeps the order of lines of one millisecond. */
  #written = 0;

  constructor(records: RecordStore, scheduler: Pick<Scheduler, 'now' | 'uuid'>) {
    this.#lines = new RecordSpace({
      records,
      space: 'trust-audit',
      schema: line,
      clock: scheduler,
    });
    this.#scheduler = scheduler;
  }

  /** The write that appends a line. */
  line(change: Omit<TrustChange, 'at'>): RecordWrite {
    const now = this.#scheduler.now();
    this.#written += 1;
    const newestFirst = [now, this.#written].map((count) => Number.MAX_SAFE_INTEGER - count);
    return this.#lines.toWrite(
      [...newestFirst, this.#scheduler.uuid()].join(' '),
      { at: new Date(now).toISOString(), ...change },
      { expiresAt: now + year },
    );
  }

  /** The newest lines first. */
  async read({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly TrustChange[]> {
    const changes: TrustChange[] = [];
    if (limit <= 0) return changes;
    for await (const { value } of this.#lines.list()) {
      changes.push(value);
      if (changes.length >= limit) break;
    }
    return changes;
  }
}
