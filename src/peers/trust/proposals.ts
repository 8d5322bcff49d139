import { z } from 'zod';
import { isTerminal, LegateError } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore, type Store } from '../../store/index.ts';
import { type Scheduler, systemScheduler } from '../../tasks/index.ts';
import { TrustAudit } from './trust-ledger.ts';
import { trustName } from './trust-subject.ts';

const schema = z.object({
  /** The id of the task that waits for it. */
  id: z.string(),
  method: z.string(),
  tenant: z.string(),
  subject: z.string(),
  displayName: z.string().exactOptional(),
  skill: z.string().exactOptional(),
  text: z.string(),
  state: z.enum(['open', 'approved', 'refused']),
  /** Milliseconds since 1970. */
  createdAt: z.number(),
  expiresAt: z.number(),
});

/**
 * A request of a caller that needs the user's approval.
 * @example
 * const line = ({ displayName, subject, skill = 'something', text }: Proposal) =>
 *   `${displayName ?? subject} asks for ${skill}: ${text}`;
 */
export type Proposal = Readonly<z.infer<typeof schema>>;

/** The store of proposals, and how decisions are awaited. */
export interface ProposalsOptions {
  readonly records: RecordStore;
  readonly scheduler?: Scheduler;
  /**
   * Whether a task has ended, so that a decision on it changes nothing any more: see `taskOver`.
   * @default no task is known to have ended
   */
  readonly isOver?: (taskId: string) => Promise<boolean>;
}

/** The interval for polling the decisions of other processes, in milliseconds. */
const pollIntervalMs = 1_000;
/** A decision outlives its proposal, for later turns of the same task. */
const decisionMs = 7 * 24 * 60 * 60 * 1000;

/**
 * Proposals that wait for the user's approval.
 * @example
 * const proposals = new Proposals({ records: store.records });
 * for (const { id, text } of await proposals.list()) console.log(id, text);
 * await proposals.approve(taskId, 'me');
 */
export class Proposals {
  readonly #proposals: RecordSpace<Proposal>;
  readonly #scheduler: Scheduler;
  readonly #isOver: (taskId: string) => Promise<boolean>;
  readonly #audit: TrustAudit;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(options: ProposalsOptions) {
    const { records, scheduler: clock = systemScheduler } = options;
    this.#proposals = new RecordSpace({ records, space: 'trust-proposals', schema, clock });
    this.#scheduler = clock;
    this.#isOver = options.isOver ?? (async () => false);
    this.#audit = new TrustAudit(records, clock);
  }

  async find(id: string): Promise<Proposal | undefined> {
    return (await this.#proposals.get(id))?.value;
  }

  /** The proposals that wait for a decision. */
  async list(): Promise<readonly Proposal[]> {
    const open: Proposal[] = [];
    for await (const { value } of this.#proposals.list()) {
      if (this.#isOpen(value) && !(await this.#isOver(value.id))) open.push(value);
    }
    return open;
  }

  /** Creates a proposal for the user; an existing one stays as it is. */
  async open(
    proposal: Omit<Proposal, 'state' | 'createdAt' | 'expiresAt'>,
    lifetimeMs: number,
  ): Promise<{ readonly proposal: Proposal; readonly isNew: boolean }> {
    const now = this.#scheduler.now();
    const made: Proposal = {
      ...proposal,
      state: 'open',
      createdAt: now,
      expiresAt: now + lifetimeMs,
    };
    const isNew = await this.#proposals.write(this.#toWrite(made, 0));
    return { proposal: isNew ? made : ((await this.find(proposal.id)) ?? made), isNew };
  }

  approve(id: string, by: string): Promise<Proposal> {
    return this.#decide(id, 'approved', by);
  }

  refuse(id: string, by: string): Promise<Proposal> {
    return this.#decide(id, 'refused', by);
  }

  /** Waits for the decision; undefined when none came in time. */
  async decision(id: string, signal: AbortSignal): Promise<'approved' | 'refused' | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const proposal = await this.find(id);
      if (proposal === undefined) return undefined;
      if (proposal.state !== 'open') return proposal.state;
      const left = proposal.expiresAt - this.#scheduler.now();
      if (left <= 0) return undefined;
      await this.#sleep(id, Math.min(left, pollIntervalMs), signal);
    }
  }

  async #decide(id: string, state: 'approved' | 'refused', by: string): Promise<Proposal> {
    const stored = await this.#proposals.get(id);
    if (stored === undefined || !this.#isOpen(stored.value)) {
      throw new LegateError('INVALID_PARAMS', `no proposal ${id} waits for a decision`);
    }
    const open = stored.value;
    if (await this.#isOver(id)) {
      throw new LegateError(
        'INVALID_PARAMS',
        `task ${id} has ended, so a decision has no effect: the caller has to ask again`,
      );
    }
    const decided: Proposal = { ...open, state };
    const line = this.#audit.line({
      by,
      event: `proposal.${state}`,
      subject: trustName(open),
      details: { id, ...(open.skill !== undefined && { skill: open.skill }) },
    });
    if (!(await this.#proposals.write(this.#toWrite(decided, stored.version), line))) {
      throw new LegateError('INVALID_PARAMS', `no proposal ${id} waits for a decision any more`);
    }
    for (const wake of this.#waiting.get(id) ?? []) wake();
    return decided;
  }

  #isOpen({ state, expiresAt }: Proposal): boolean {
    return state === 'open' && expiresAt > this.#scheduler.now();
  }

  #toWrite(proposal: Proposal, ifVersion: number) {
    const expiresAt = proposal.expiresAt + decisionMs;
    return this.#proposals.toWrite(proposal.id, proposal, { expiresAt, ifVersion });
  }

  #sleep(id: string, ms: number, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting);
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', wake);
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = this.#scheduler.after(ms, wake);
      waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

/**
 * Checks in a store whether tasks have ended. A task that the store does not have may run elsewhere.
 * @example const proposals = new Proposals({ records: store.records, isOver: taskOver(store) });
 */
export function taskOver(store: Pick<Store, 'load'>): (taskId: string) => Promise<boolean> {
  return async (taskId) => {
    const task = await store.load(taskId);
    return task !== undefined && isTerminal(task.state);
  };
}
