import {
  Json,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Message,
} from '../../protocol/index.ts';
import type { RecordStore, RecordWrite, StoredRecord } from '../../store/index.ts';
import type { Caller, Clock, ContextPatch, ContextState } from '../agent.ts';
import { RecordSession } from '../sessions/record-session.ts';

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
  readonly updatedAt: number;
}

/** The record of a session. */
interface Kept {
  readonly createdAt: number;
  readonly updatedAt: number;
  /** What the agent keeps. */
  readonly value?: JsonObject;
  /** Entries of the agent's log, and messages. */
  readonly logged: number;
  readonly messages: number;
}

/** A session as it was read, and as whoever saves it expects to find it. */
export interface LoadedSession {
  readonly key: SessionKey;
  readonly kept: Kept | undefined;
  readonly version: number;
}

const spaces = { session: 'runner-sessions', log: 'runner-log', message: 'runner-messages' };
const stateSpace = 'agent-state';
const digits = 10;
const pageSize = 200;

/**
 * Sessions of one agent: what it keeps of them, their messages and their state.
 * @example const session = await runner.sessions.get({ caller, sessionId: 'a' });
 */
export class SessionStore {
  readonly #agent: string;
  readonly #records: RecordStore;
  readonly #clock: Clock;

  constructor(agent: string, records: RecordStore, clock: Clock) {
    this.#agent = agent;
    this.#records = records;
    this.#clock = clock;
  }

  /** Begins a session; one that exists already is refused. Sessions also begin with their first run. */
  async create(key: SessionKey, state: JsonObject = {}): Promise<SessionInfo> {
    const now = this.#clock.now();
    const kept: Kept = { createdAt: now, updatedAt: now, logged: 0, messages: 0 };
    const values = this.session(key);
    for (const [name, value] of Object.entries(state)) values.set(name, value);
    const isWritten = await this.#records.write(
      [this.#write(key, kept, 0), ...values.writes()],
      now,
    );
    if (!isWritten) {
      throw new LegateError('INVALID_PARAMS', `there is a session ${key.sessionId} already`);
    }
    return { sessionId: key.sessionId, createdAt: now, updatedAt: now };
  }

  async get(key: SessionKey): Promise<SessionInfo | undefined> {
    const { kept } = await this.load(key);
    return kept === undefined ? undefined : toInfo(key.sessionId, kept);
  }

  /** Sessions of a user in the order of their ids, from the one after `after`. */
  async list(
    caller: SessionKey['caller'],
    { after, limit = 50 }: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly SessionInfo[]> {
    const prefix = this.#owner(caller);
    const page = await this.#records.list({
      space: spaces.session,
      prefix,
      limit,
      now: this.#clock.now(),
      ...(after !== undefined && { after: prefix + after }),
    });
    return page.map(({ key, value }) => toInfo(key.slice(prefix.length), value.value as never));
  }

  /** The session's state, as agents see it. Changes are saved by `writes`, or by `update`. */
  session(key: SessionKey): RecordSession {
    const { tenant, subject } = key.caller;
    const identity = { agent: this.#agent, tenant, subject, contextId: key.sessionId };
    return new RecordSession({ records: this.#records, clock: this.#clock, identity });
  }

  /** Changes state outside a run; `null` deletes. */
  async update(key: SessionKey, delta: JsonObject): Promise<void> {
    const values = this.session(key);
    for (const [name, value] of Object.entries(delta)) {
      if (value === null) values.delete(name);
      else values.set(name, value);
    }
    await this.#records.write(values.writes(), this.#clock.now());
  }

  /** The last messages of a session, oldest first. */
  async messages(
    key: SessionKey,
    { last = 100 }: { readonly last?: number } = {},
  ): Promise<readonly Message[]> {
    const { kept } = await this.load(key);
    const entries = await this.#tail(spaces.message, key, kept?.messages ?? 0, last);
    return entries as unknown as readonly Message[];
  }

  /** Deletes a session with all that hangs on it, save for what is the user's or the agent's. */
  async delete(key: SessionKey): Promise<boolean> {
    const { kept } = await this.load(key);
    if (kept === undefined) return false;
    const now = this.#clock.now();
    const own = this.#own(key);
    for (const space of [spaces.log, spaces.message, stateSpace]) {
      for (;;) {
        const page = await this.#records.list({ space, prefix: own, limit: pageSize, now });
        if (page.length === 0) break;
        await this.#records.write(
          page.map((each) => ({ space, key: each.key })),
          now,
        );
      }
    }
    await this.#records.write([{ space: spaces.session, key: this.#keyOf(key) }], now);
    return true;
  }

  async load(key: SessionKey): Promise<LoadedSession> {
    const found = await this.#records.get(spaces.session, this.#keyOf(key), this.#clock.now());
    return {
      key,
      kept: found?.value.value as Kept | undefined,
      version: found?.version ?? 0,
    };
  }

  contextOf({ key, kept }: LoadedSession): ContextState {
    return {
      load: async () => kept?.value,
      log: async ({ last } = {}) =>
        (await this.#tail(spaces.log, key, kept?.logged ?? 0, last)) as readonly JsonObject[],
    };
  }

  /** What a run adds to its session, for one write together with the rest of its end. */
  writes(
    loaded: LoadedSession,
    patch: ContextPatch,
    messages: readonly Message[],
  ): readonly RecordWrite[] {
    const { key, kept, version } = loaded;
    const now = this.#clock.now();
    const { log = [] } = patch;
    const value = patch.value ?? kept?.value;
    const logged = kept?.logged ?? 0;
    const told = kept?.messages ?? 0;
    const next: Kept = {
      createdAt: kept?.createdAt ?? now,
      updatedAt: now,
      logged: logged + log.length,
      messages: told + messages.length,
      ...(value !== undefined && { value }),
    };
    return [
      this.#write(key, next, version),
      ...log.map((entry, index) => this.#entry(spaces.log, key, logged + index + 1, entry)),
      ...messages.map((message, index) =>
        this.#entry(spaces.message, key, told + index + 1, message as unknown as JsonObject),
      ),
    ];
  }

  #write(key: SessionKey, kept: Kept, version: number): RecordWrite {
    return {
      space: spaces.session,
      key: this.#keyOf(key),
      value: Json.of(kept as unknown as JsonValue),
      ifVersion: version,
    };
  }

  #entry(space: string, key: SessionKey, number: number, value: JsonObject): RecordWrite {
    return { space, key: this.#own(key) + numbered(number), value: Json.of<JsonValue>(value) };
  }

  async #tail(
    space: string,
    key: SessionKey,
    count: number,
    last = count,
  ): Promise<readonly JsonValue[]> {
    const own = this.#own(key);
    const first = Math.max(0, count - last);
    const found: StoredRecord[] = [];
    while (found.length < count - first) {
      const page = await this.#records.list({
        space,
        prefix: own,
        after: found.at(-1)?.key ?? own + numbered(first),
        limit: Math.min(pageSize, count - first - found.length),
        now: this.#clock.now(),
      });
      if (page.length === 0) break;
      found.push(...page);
    }
    return found.map(({ value }) => value.value);
  }

  #keyOf(key: SessionKey): string {
    return this.#owner(key.caller) + key.sessionId;
  }

  #owner({ tenant, subject }: SessionKey['caller']): string {
    return JSON.stringify([this.#agent, tenant, subject]);
  }

  #own({ caller, sessionId }: SessionKey): string {
    return JSON.stringify([this.#agent, caller.tenant, caller.subject, sessionId]);
  }
}

function numbered(number: number): string {
  return String(number).padStart(digits, '0');
}

function toInfo(sessionId: string, { createdAt, updatedAt }: Kept): SessionInfo {
  return { sessionId, createdAt, updatedAt };
}
