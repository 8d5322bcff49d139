import { z } from 'zod';
import { type JsonObject, LegateError } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore, type RecordWrite } from '../../store/index.ts';
import { type Scheduler, systemScheduler } from '../../tasks/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { foldName } from '../directory/fold-name.ts';
import {
  isAtLeast,
  isProved,
  type TrustLevel,
  trustLevels,
  trustName,
  type TrustSubject,
} from './trust-subject.ts';

const trustEntry = z.object({
  method: z.string(),
  tenant: z.string(),
  subject: z.string(),
  displayName: z.string().exactOptional(),
  level: z.enum(trustLevels),
  /** Ids of skills; compared in any case. */
  approvedSkills: z.array(z.string()).readonly(),
  /** Milliseconds since 1970. */
  firstSeen: z.number(),
  lastInteraction: z.number().exactOptional(),
  interactionCount: z.number(),
});

/**
 * The trust record of a caller, or of a peer that we call.
 * @example
 * const isRegular = ({ level, interactionCount }: TrustEntry) =>
 *   level === 'observe' && interactionCount > 20; // perhaps time to grant more
 */
export type TrustEntry = Readonly<z.infer<typeof trustEntry>>;

/** The store of trust levels. */
export interface TrustLedgerOptions {
  readonly records: RecordStore;
  readonly scheduler?: Scheduler;
  readonly logger?: Logger;
}

/**
 * A change of a subject's trust, and its author.
 * @example const grant: Grant = { level: 'act', skills: ['book-seat'], by: 'ada' };
 */
export interface Grant {
  readonly level?: TrustLevel;
  /** Skills to approve in addition to the approved ones. */
  readonly skills?: readonly string[];
  /** The author of the grant, for the audit log. */
  readonly by: string;
}

const maxSkills = 500;
/** How long unverified subjects are stored: a caller can invent any number of them. */
const strangersMs = 7 * 24 * 60 * 60 * 1000;

/**
 * The trust levels of all subjects. Each starts as an observer; the user grants more, and can
 * revoke it immediately. Kept in the store, with a line in the audit log for each change.
 * @example
 * await ledger.grant(readTrustName('message-token:alice'), { level: 'act', skills: ['notify'], by: 'me' })
 */
export class TrustLedger {
  readonly audit: TrustAudit;
  readonly #entries: RecordSpace<TrustEntry>;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;

  constructor(options: TrustLedgerOptions) {
    const { records, scheduler: clock = systemScheduler } = options;
    this.#scheduler = clock;
    this.#logger = options.logger ?? silentLogger;
    this.#entries = new RecordSpace({ records, space: 'trust', schema: trustEntry, clock });
    this.audit = new TrustAudit(records, clock);
  }

  /** The entry of a subject; an observer by default. */
  async find(subject: TrustSubject): Promise<TrustEntry> {
    return (await this.#entries.get(keyOf(subject)))?.value ?? this.#stranger(subject);
  }

  /** Whether a subject may act by itself with a skill. */
  async mayAct(subject: TrustSubject, skillId: string | undefined): Promise<boolean> {
    const entry = await this.find(subject);
    return isProved(subject) && isAtLeast(entry.level, 'act') && isApproved(entry, skillId);
  }

  /** The effective level of a subject. */
  async level(subject: TrustSubject): Promise<TrustLevel> {
    return isProved(subject) ? (await this.find(subject)).level : 'observe';
  }

  /** Counts an interaction; adds new subjects as observers. */
  note(subject: TrustSubject, displayName?: string): Promise<TrustEntry> {
    return this.#change(subject, (entry) => ({
      ...entry,
      ...(displayName !== undefined && { displayName }),
      lastInteraction: this.#scheduler.now(),
      interactionCount: entry.interactionCount + 1,
    }));
  }

  /** Raises (or lowers) a level, and approves skills. */
  async grant(subject: TrustSubject, { level, skills = [], by }: Grant): Promise<TrustEntry> {
    if (!isProved(subject)) {
      throw new LegateError(
        'PERMISSION_DENIED',
        `${trustName(subject)} is not authenticated, and any caller can use that name: it stays an observer`,
      );
    }
    if (level !== undefined && !trustLevels.includes(level)) {
      throw new LegateError(
        'INVALID_PARAMS',
        `unknown trust level "${level}": use ${trustLevels.join(', ')}`,
      );
    }
    return this.#change(
      subject,
      (entry) => {
        const approvedSkills = [...new Set([...entry.approvedSkills, ...skills.map(foldName)])];
        if (approvedSkills.length > maxSkills) {
          throw new LegateError('INVALID_PARAMS', `more than ${maxSkills} approved skills`);
        }
        return { ...entry, approvedSkills, level: level ?? entry.level };
      },
      { by, event: 'trust.granted', details: { ...(level !== undefined && { level }), skills } },
    );
  }

  /** Revokes the approval of skills; without `skills`, all approvals and the level. */
  async revoke(
    subject: TrustSubject,
    { skills, by }: { readonly skills?: readonly string[]; readonly by: string },
  ): Promise<TrustEntry> {
    const lost = skills?.map(foldName);
    return this.#change(
      subject,
      (entry) =>
        lost === undefined
          ? { ...entry, level: 'observe', approvedSkills: [] }
          : {
              ...entry,
              approvedSkills: entry.approvedSkills.filter((skill) => !lost.includes(skill)),
            },
      { by, event: 'trust.revoked', details: lost === undefined ? {} : { skills: lost } },
    );
  }

  list(): Promise<readonly TrustEntry[]> {
    return this.#entries.values();
  }

  #stranger({ method, tenant, subject }: TrustSubject): TrustEntry {
    return {
      method,
      tenant,
      subject,
      level: 'observe',
      approvedSkills: [],
      firstSeen: this.#scheduler.now(),
      interactionCount: 0,
    };
  }

  async #change(
    subject: TrustSubject,
    change: (entry: TrustEntry) => TrustEntry,
    audit?: { readonly by: string; readonly event: string; readonly details: JsonObject },
  ): Promise<TrustEntry> {
    const name = trustName(subject);
    const after = await this.#entries.change(keyOf(subject), (before) => ({
      value: change(before?.value ?? this.#stranger(subject)),
      expiresAt: isProved(subject) ? undefined : this.#scheduler.now() + strangersMs,
      also: audit === undefined ? [] : [this.audit.line({ ...audit, subject: name })],
    }));
    if (audit !== undefined) {
      const { event, ...details } = audit;
      this.#logger.info({ subject: name, ...details }, `peers.${event}`);
    }
    return after;
  }
}

/** Whether a skill is among the approved ones. */
export function isApproved(entry: TrustEntry, skillId: string | undefined): boolean {
  return skillId !== undefined && entry.approvedSkills.includes(foldName(skillId));
}

function keyOf({ method, tenant, subject }: TrustSubject): string {
  return JSON.stringify([method, tenant, subject]);
}

const auditLine = z.object({
  /** ISO 8601. */
  at: z.string(),
  /** The author of the change: the user's name, `cli`, `inspector`. */
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
export type TrustChange = Readonly<z.infer<typeof auditLine>>;

const year = 365 * 24 * 60 * 60 * 1000;

/** The changes of trust, each written in the transaction of the change. */
export class TrustAudit {
  readonly #lines: RecordSpace<TrustChange>;
  readonly #scheduler: Pick<Scheduler, 'now' | 'uuid'>;
  /** Keeps the order of lines of one millisecond. */
  #written = 0;

  constructor(records: RecordStore, scheduler: Pick<Scheduler, 'now' | 'uuid'>) {
    this.#lines = new RecordSpace({
      records,
      space: 'trust-audit',
      schema: auditLine,
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
