import { z } from 'zod';
import { type Caller, type Clock, type Session, turnRecords } from '../../agents/index.ts';
import {
  type JsonObject,
  LegateError,
  message,
  type Message,
  type Task,
} from '../../protocol/index.ts';
import { ownerKey, RecordSpace, type Store } from '../../store/index.ts';
import { endKindOf } from '../agent-events.ts';
import { taskOf } from '../live-task.ts';

/**
 * The owner and the id of a session.
 * @example const key: SessionKey = { caller: { tenant: '', subject: 'alice' }, sessionId: 'alice-1' };
 */
export interface SessionKey {
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
  readonly sessionId: string;
}

/**
 * A session without its messages and state.
 * @example const isStale = ({ updatedAt }: SessionInfo) => Date.now() - updatedAt > 30 * 24 * 3_600_000;
 */
export interface SessionInfo {
  readonly sessionId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Start of its last run, in milliseconds since 1970. */
  readonly updatedAt: number;
}

/** The record of a session. Its context, tasks and state contain the rest. */
const kept = z.object({
  createdAt: z.number(),
  updatedAt: z.number(),
  /** The caller that started its last run. */
  caller: z
    .looseObject({ tenant: z.string(), subject: z.string(), method: z.string() })
    .transform((caller): Caller => caller)
    .optional(),
});
type Kept = z.infer<typeof kept>;

/**
 * Sessions of one agent: the contexts of its tasks, with their messages and their state.
 * @example const session = await runner.sessions.get({ caller, sessionId: 'a' });
 */
export class SessionStore {
  readonly #agent: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #records: RecordSpace<Kept>;

  /** Made by a `Runner`. */
  constructor(agent: string, store: Store, clock: Clock) {
    this.#agent = agent;
    this.#store = store;
    this.#clock = clock;
    const { records } = store;
    this.#records = new RecordSpace({ records, space: 'runner-sessions', schema: kept, clock });
  }

  /** Creates a session; throws if it exists. The first run of a session creates it, too. */
  async create(key: SessionKey, state: JsonObject = {}): Promise<SessionInfo> {
    const now = this.#clock.now();
    const values = this.#state(key);
    for (const [name, value] of Object.entries(state)) values.session.set(name, value);
    const started = { createdAt: now, updatedAt: now };
    const write = this.#records.toWrite(this.#keyOf(key), started, { ifVersion: 0 });
    if (!(await this.#records.write(write, ...(await values.writes())))) {
      throw new LegateError('INVALID_PARAMS', `there is a session ${key.sessionId} already`);
    }
    return { sessionId: key.sessionId, ...started };
  }

  async get(key: SessionKey): Promise<SessionInfo | undefined> {
    const found = await this.#load(key);
    return found && toInfo(key.sessionId, found);
  }

  /** Sessions of a user in the order of their ids, from the one after `after`. */
  async list(
    caller: SessionKey['caller'],
    { after, limit = 50 }: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly SessionInfo[]> {
    const prefix = this.#owner(caller);
    const found: SessionInfo[] = [];
    const from = after === undefined ? undefined : prefix + after;
    for await (const { key, value } of this.#records.list(prefix, { after: from })) {
      if (found.length >= limit) break;
      found.push(toInfo(key.slice(prefix.length), value));
    }
    return found;
  }

  /** The session's state, as agents see it. To change it, use `update`. */
  session(key: SessionKey): Session {
    return this.#state(key).session;
  }

  /** Changes state outside a run; `null` deletes. */
  async update(key: SessionKey, delta: JsonObject): Promise<void> {
    const state = this.#state(key);
    for (const [name, value] of Object.entries(delta)) {
      if (value === null) state.session.delete(name);
      else state.session.set(name, value);
    }
    await this.#records.write(...(await state.writes()));
  }

  /** The last messages of a session, oldest first, from runs that are not deleted yet. */
  async messages(
    key: SessionKey,
    { last = 100 }: { readonly last?: number } = {},
  ): Promise<readonly Message[]> {
    const found = await this.#load(key);
    if (found === undefined) return [];
    const { records } = await this.#store.list({
      owner: this.#owner(key.caller),
      contextId: key.sessionId,
      statusTimeFrom: found.createdAt,
      limit: last,
    });
    const messages = records.toReversed().flatMap((record) => messagesOf(taskOf(record).value));
    return messages.slice(-last);
  }

  /**
   * Deletes a session with its state and its context. State of the user (`user:`) and of the agent (`app:`)
   * stays. Its runs are deleted after `keepMs` like all others.
   */
  async delete(key: SessionKey): Promise<boolean> {
    if ((await this.#load(key)) === undefined) return false;
    const state = this.#state(key);
    const { session } = state;
    const isShared = (name: string): boolean =>
      name.startsWith('app:') || (name.startsWith('user:') && key.caller.subject !== '');
    for (const name of (await session.entries()).keys()) if (!isShared(name)) session.delete(name);
    await this.#store.deleteContext(this.#owner(key.caller), key.sessionId);
    await this.#records.write(this.#records.toWrite(this.#keyOf(key)), ...(await state.writes()));
    return true;
  }

  /** Records that a run of the session starts. */
  async start(caller: Caller, sessionId: string): Promise<void> {
    const now = this.#clock.now();
    await this.#records.change(this.#keyOf({ caller, sessionId }), (before) => ({
      value: { createdAt: before?.value.createdAt ?? now, updatedAt: now, caller },
    }));
  }

  /** The caller that started the last run of a session. */
  async callerOf(key: SessionKey): Promise<Caller> {
    return (await this.#load(key))?.caller ?? { ...key.caller, method: 'runner' };
  }

  #state({ caller, sessionId: contextId }: SessionKey) {
    return turnRecords({
      records: this.#store.records,
      clock: this.#clock,
      agent: this.#agent,
      caller,
      contextId,
      taskId: '',
      messageId: '',
      attempt: 1,
      isRepeatable: false,
    });
  }

  async #load(key: SessionKey): Promise<Kept | undefined> {
    return (await this.#records.get(this.#keyOf(key)))?.value;
  }

  #keyOf(key: SessionKey): string {
    return this.#owner(key.caller) + key.sessionId;
  }

  #owner({ tenant, subject }: SessionKey['caller']): string {
    return ownerKey({ agent: this.#agent, tenant, subject });
  }
}

/** The conversation of a task: messages of the caller, questions of the agent, and its final output. */
function messagesOf({ id: taskId, contextId, history = [], artifacts = [], status }: Task) {
  // Interim messages of the agent are not part of the conversation.
  const said = history.filter(
    ({ role }, index) => role === 'ROLE_USER' || history[index + 1]?.role === 'ROLE_USER',
  );
  const made = [...artifacts.flatMap(({ parts }) => parts), ...(status.message?.parts ?? [])];
  if (made.length === 0 || endKindOf(status.state) === undefined) return said;
  const messageId = status.message?.messageId ?? `${taskId}/result`;
  return [...said, message(made, { role: 'ROLE_AGENT', messageId, taskId, contextId })];
}

function toInfo(sessionId: string, { createdAt, updatedAt }: Kept): SessionInfo {
  return { sessionId, createdAt, updatedAt };
}
