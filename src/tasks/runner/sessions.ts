import { type Caller, type Clock, type Session, turnRecords } from '../../agents/index.ts';
import {
  Json,
  type JsonObject,
  type JsonValue,
  LegateError,
  message,
  type Message,
  type Task,
} from '../../protocol/index.ts';
import { ownerKey, type RecordWrite, type Store } from '../../store/index.ts';
import { endKindOf } from '../agent-events.ts';
import { taskOf } from '../live-task.ts';

/**
 * Whose session it is.
 * @example const key: SessionKey = { caller: { tenant: '', subject: 'alice' }, sessionId: 'alice-1' };
 */
export interface SessionKey {
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
  readonly sessionId: string;
}

/**
 * A session without what is in it.
 * @example const isStale = ({ updatedAt }: SessionInfo) => Date.now() - updatedAt > 30 * 24 * 3_600_000;
 */
export interface SessionInfo {
  readonly sessionId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When its last run was started. */
  readonly updatedAt: number;
}

/** The record of a session; all else is in its context, its tasks and its state. */
interface Kept {
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Who started its last run. */
  readonly caller?: Caller;
}

const space = 'runner-sessions';

/**
 * Sessions of one agent: the contexts of its tasks, with their messages and their state.
 * @example const session = await runner.sessions.get({ caller, sessionId: 'a' });
 */
export class SessionStore {
  readonly #agent: string;
  readonly #store: Store;
  readonly #clock: Clock;

  /** Made by a `Runner`. */
  constructor(agent: string, store: Store, clock: Clock) {
    this.#agent = agent;
    this.#store = store;
    this.#clock = clock;
  }

  /** Begins a session; one that exists already is refused. Sessions also begin with their first run. */
  async create(key: SessionKey, state: JsonObject = {}): Promise<SessionInfo> {
    const now = this.#clock.now();
    const values = this.#state(key);
    for (const [name, value] of Object.entries(state)) values.session.set(name, value);
    const kept = { createdAt: now, updatedAt: now };
    const begun = { ...this.#write(key, kept), ifVersion: 0 };
    if (!(await this.#store.records.write([begun, ...(await values.writes())], now))) {
      throw new LegateError('INVALID_PARAMS', `there is a session ${key.sessionId} already`);
    }
    return { sessionId: key.sessionId, ...kept };
  }

  async get(key: SessionKey): Promise<SessionInfo | undefined> {
    const kept = await this.#load(key);
    return kept === undefined ? undefined : toInfo(key.sessionId, kept);
  }

  /** Sessions of a user in the order of their ids, from the one after `after`. */
  async list(
    caller: SessionKey['caller'],
    { after, limit = 50 }: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly SessionInfo[]> {
    const prefix = this.#owner(caller);
    const page = await this.#store.records.list({
      space,
      prefix,
      limit,
      now: this.#clock.now(),
      ...(after !== undefined && { after: prefix + after }),
    });
    return page.map(({ key, value }) => toInfo(key.slice(prefix.length), value.value as never));
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
    await this.#store.records.write(await state.writes(), this.#clock.now());
  }

  /** The last messages of a session, oldest first: those of runs that are still remembered. */
  async messages(
    key: SessionKey,
    { last = 100 }: { readonly last?: number } = {},
  ): Promise<readonly Message[]> {
    const kept = await this.#load(key);
    if (kept === undefined) return [];
    const { records } = await this.#store.list({
      owner: this.#owner(key.caller),
      contextId: key.sessionId,
      statusTimeFrom: kept.createdAt,
      limit: last,
    });
    const messages = records.toReversed().flatMap((record) => messagesOf(taskOf(record).value));
    return messages.slice(-last);
  }

  /**
   * Deletes a session with its state and what its agent keeps of it, save for what is the user's or
   * the agent's. Its runs are forgotten after `keepMs` like all others.
   */
  async delete(key: SessionKey): Promise<boolean> {
    if ((await this.#load(key)) === undefined) return false;
    const state = this.#state(key);
    const { session } = state;
    const isShared = (name: string): boolean =>
      name.startsWith('app:') || (name.startsWith('user:') && key.caller.subject !== '');
    for (const name of (await session.entries()).keys()) if (!isShared(name)) session.delete(name);
    await this.#store.deleteContext(this.#owner(key.caller), key.sessionId);
    const gone = { space, key: this.#keyOf(key) };
    await this.#store.records.write([gone, ...(await state.writes())], this.#clock.now());
    return true;
  }

  /** Notes that a run of the session starts. */
  async begin(caller: Caller, sessionId: string): Promise<void> {
    const key = { caller, sessionId };
    const now = this.#clock.now();
    const { createdAt = now } = (await this.#load(key)) ?? {};
    const write = this.#write(key, { createdAt, updatedAt: now, caller });
    await this.#store.records.write([write], now);
  }

  /** Who started the last run of a session. */
  async callerOf(key: SessionKey): Promise<Caller> {
    const kept = await this.#load(key);
    return kept?.caller ?? { ...key.caller, method: 'runner' };
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
    const found = await this.#store.records.get(space, this.#keyOf(key), this.#clock.now());
    return found?.value.value as Kept | undefined;
  }

  #write(key: SessionKey, kept: Kept): RecordWrite {
    return { space, key: this.#keyOf(key), value: Json.of({ ...kept } as unknown as JsonValue) };
  }

  #keyOf(key: SessionKey): string {
    return this.#owner(key.caller) + key.sessionId;
  }

  #owner({ tenant, subject }: SessionKey['caller']): string {
    return ownerKey({ agent: this.#agent, tenant, subject });
  }
}

/** What was said in a task: the caller's messages, the questions, and what the agent made in the end. */
function messagesOf({ id: taskId, contextId, history = [], artifacts = [], status }: Task) {
  // What the agent said on the way to something else is no part of the conversation.
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
