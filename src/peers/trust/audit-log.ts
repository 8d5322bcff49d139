import { Json, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';

/**
 * One change, for those who ask later who made it.
 * @example const isOfAlice = ({ subject }: AuditLine) => subject === 'jwt:acme:alice';
 */
export interface AuditLine {
  /** ISO 8601. */
  readonly at: string;
  /** Who made it: the user's name, `cli`, `inspector`. */
  readonly by: string;
  /** `trust.granted`, `trust.revoked`, `proposal.approved`, ... */
  readonly event: string;
  /** Whom it concerns. */
  readonly subject: string;
  readonly details?: JsonObject;
}

const space = 'trust-audit';
const year = 365 * 24 * 60 * 60 * 1000;

/**
 * The lines of the audit log, written in the transaction of what they tell of.
 * @example
 * const audit = new AuditLog(store.records, systemScheduler);
 * for (const { at, by, event } of await audit.read({ limit: 20 })) console.log(at, by, event);
 */
export class AuditLog {
  readonly #records: RecordStore;
  readonly #scheduler: Pick<Scheduler, 'now' | 'uuid'>;
  /** Keeps the order of lines of one millisecond. */
  #written = 0;

  constructor(records: RecordStore, scheduler: Pick<Scheduler, 'now' | 'uuid'>) {
    this.#records = records;
    this.#scheduler = scheduler;
  }

  /** The write that appends a line. */
  line(line: Omit<AuditLine, 'at'>): RecordWrite {
    const now = this.#scheduler.now();
    this.#written += 1;
    const newestFirst = [now, this.#written].map((count) => Number.MAX_SAFE_INTEGER - count);
    const value = { at: new Date(now).toISOString(), ...line };
    return {
      space,
      key: [...newestFirst, this.#scheduler.uuid()].join(' '),
      value: Json.of<JsonValue>(value),
      expiresAt: now + year,
    };
  }

  /** The newest lines first. */
  async read({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly AuditLine[]> {
    const page = await this.#records.list({ space, limit, now: this.#scheduler.now() });
    return page.map(({ value }) => value.value as unknown as AuditLine);
  }
}
