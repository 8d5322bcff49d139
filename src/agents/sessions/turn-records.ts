import type { RecordStore, RecordWrite } from '../../store/index.ts';
import type { Caller, Clock, Journal, Session } from '../agent.ts';
import { RecordJournal } from './record-journal.ts';
import { RecordSession } from './record-session.ts';

/**
 * The turn, and the owner of its records.
 * @example
 * const options: TurnRecordsOptions = {
 *   records: store.records, clock: Date,
 *   agent: 'greeter', caller: { tenant: '', subject: 'ada' },
 *   contextId: 'c-1', taskId: 't-1', messageId: 'm-1',
 *   attempt: 1, isRepeatable: true, // false: no journal
 * };
 */
export interface TurnRecordsOptions {
  /** Stores session and journal. */
  readonly records: RecordStore;
  /** The agent's name. */
  readonly agent: string;
  /** The owner of the conversation. */
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
  /** The conversation. */
  readonly contextId: string;
  /** The task of the turn. */
  readonly taskId: string;
  /** The message of the turn. */
  readonly messageId: string;
  /** 1 on the first run. */
  readonly attempt: number;
  /** Whether the turn can run again after its process died. */
  readonly isRepeatable: boolean;
  /** The clock of the store. */
  readonly clock: Clock;
}

/**
 * Session and journal of a `Turn`, stored as records.
 * @example const save = async (kept: TurnRecords) => store.records.write(await kept.writes(), Date.now());
 */
export interface TurnRecords {
  readonly session: Session;
  readonly journal?: Journal;
  /** The writes for the transaction that ends the turn, for every kind of end. */
  writes(): Promise<readonly RecordWrite[]>;
}

/**
 * Session and journal of one turn, for drivers of agents. Nothing is read or written before the
 * agent uses them.
 * @example
 * const kept = turnRecords({ records: store.records, agent: 'greeter', ...identity });
 * const turn = { ...rest, session: kept.session, ...(kept.journal && { journal: kept.journal }) };
 * await store.append({ ...end, records: await kept.writes() });
 */
export function turnRecords(options: TurnRecordsOptions): TurnRecords {
  const { records, clock, agent, caller, contextId, taskId, messageId, attempt } = options;
  const { tenant, subject } = caller;
  const session = new RecordSession({
    records,
    clock,
    identity: { agent, tenant, subject, contextId },
  });
  const journal = options.isRepeatable
    ? new RecordJournal({ records, clock, taskId, messageId, attempt })
    : undefined;
  return {
    session,
    ...(journal !== undefined && { journal }),
    writes: async () => [...session.writes(), ...((await journal?.clearing()) ?? [])],
  };
}
