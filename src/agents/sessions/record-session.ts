import { Json, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite } from '../../store/index.ts';
import type { Clock, Session } from '../agent.ts';

/** The owner of the values. */
export interface SessionIdentity {
  readonly agent: string;
  readonly tenant: string;
  /** Empty for anonymous callers. */
  readonly subject: string;
  readonly contextId: string;
}

export interface RecordSessionOptions {
  readonly records: RecordStore;
  readonly identity: SessionIdentity;
  readonly clock: Clock;
}

const space = 'agent-state';
const scopes = ['app', 'user', 'session'] as const;
type Scope = (typeof scopes)[number];

const maxKeyLength = 256;
const maxValueSize = 256 * 1024;
const maxChanges = 1_000;
const maxEntries = 1_000;

/**
 * A session with one record for each value, so that concurrent turns conflict only on the same key
 * (last write wins). Values are read on demand; the engine writes the changes (`writes`) in the
 * transaction that ends the turn.
 */
export class RecordSession implements Session {
  readonly #options: RecordSessionOptions;
  readonly #prefixes: Readonly<Record<Scope, string>>;
  readonly #read = new Map<string, Promise<JsonValue | undefined>>();
  readonly #changes = new Map<string, JsonValue | undefined>();
  readonly #temporary = new Map<string, JsonValue>();

  constructor(options: RecordSessionOptions) {
    this.#options = options;
    this.#prefixes = prefixesOf(options.identity);
  }

  get(key: string): Promise<JsonValue | undefined> {
    if (key.startsWith('temp:')) return Promise.resolve(this.#temporary.get(key));
    if (this.#changes.has(key)) return Promise.resolve(this.#changes.get(key));
    let value = this.#read.get(key);
    if (value === undefined) {
      value = this.#load(key);
      this.#read.set(key, value);
      // Do not cache failures of the store.
      value.catch(() => this.#read.delete(key));
    }
    return value;
  }

  set(key: string, value: JsonValue): void {
    check(key, value);
    if (key.startsWith('temp:')) this.#temporary.set(key, value);
    else this.#change(key, value);
  }

  delete(key: string): void {
    if (key.startsWith('temp:')) this.#temporary.delete(key);
    else this.#change(key, undefined);
  }

  async entries(): Promise<ReadonlyMap<string, JsonValue>> {
    const { records, clock } = this.#options;
    const found = new Map<string, JsonValue>();
    for (const scope of scopes) {
      const prefix = this.#prefixes[scope];
      const query = { space, prefix, limit: maxEntries, now: clock.now() };
      for (const record of await records.list(query)) {
        const name = record.key.slice(prefix.length);
        found.set(scope === 'session' ? name : `${scope}:${name}`, record.value.value);
      }
    }
    for (const [key, value] of this.#changes) {
      if (value === undefined) found.delete(key);
      else found.set(key, value);
    }
    for (const [key, value] of this.#temporary) found.set(key, value);
    return found;
  }

  /** The changes, to be written with the end of the turn. */
  writes(): readonly RecordWrite[] {
    return [...this.#changes].map(([key, value]) => ({
      space,
      key: this.#keyOf(key),
      ...(value !== undefined && { value: Json.of(value) }),
    }));
  }

  #change(key: string, value: JsonValue | undefined): void {
    if (this.#changes.size >= maxChanges && !this.#changes.has(key)) {
      throw new LegateError(
        'INVALID_AGENT_RESPONSE',
        `a turn may change ${maxChanges} state keys; keep lists in one value, or elsewhere`,
      );
    }
    this.#changes.set(key, value);
  }

  async #load(key: string): Promise<JsonValue | undefined> {
    const { records, clock } = this.#options;
    return (await records.get(space, this.#keyOf(key), clock.now()))?.value.value;
  }

  #keyOf(key: string): string {
    const scope = scopes.find((each) => each !== 'session' && key.startsWith(`${each}:`));
    return scope === undefined
      ? this.#prefixes.session + key
      : this.#prefixes[scope] + key.slice(scope.length + 1);
  }
}

/**
 * JSON arrays are self-delimiting: no prefix starts with another. Anonymous callers share an empty
 * subject, so their values are scoped to the conversation.
 */
function prefixesOf(identity: SessionIdentity): Record<Scope, string> {
  const { agent, tenant, subject, contextId } = identity;
  return {
    app: JSON.stringify([agent]),
    user:
      subject === ''
        ? JSON.stringify([agent, tenant, subject, contextId, 'user'])
        : JSON.stringify([agent, tenant, subject]),
    session: JSON.stringify([agent, tenant, subject, contextId]),
  };
}

function check(key: string, value: JsonValue): void {
  if (key === '' || key.length > maxKeyLength) {
    throw new LegateError(
      'INVALID_AGENT_RESPONSE',
      `a state key has 1 to ${maxKeyLength} characters; this one has ${key.length}`,
    );
  }
  const size = JSON.stringify(value)?.length;
  if (size === undefined || size > maxValueSize) {
    throw new LegateError(
      'INVALID_AGENT_RESPONSE',
      `the value of state key "${key}" must be JSON of at most ${maxValueSize} characters`,
    );
  }
}
