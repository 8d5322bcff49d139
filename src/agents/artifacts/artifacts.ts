import {
  Json,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Part,
} from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Caller, Clock } from '../agent.ts';

/**
 * Whose artifacts they are.
 * @example const scope: ArtifactScope = { agent: 'clerk', caller: turn.caller, sessionId: turn.contextId };
 */
export interface ArtifactScope {
  readonly agent: string;
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
  readonly sessionId: string;
}

/**
 * An artifact as it is kept, with its version.
 * @example
 * const title = ({ name, version, createdAt }: StoredArtifact) =>
 *   `${name}, version ${version} of ${new Date(createdAt).toDateString()}`;
 */
export interface StoredArtifact {
  readonly name: string;
  /** From 1. */
  readonly version: number;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

const space = 'agent-artifacts';
const largestArtifact = 8 * 1024 * 1024;
const longestName = 256;
const mostAttempts = 20;
const versionDigits = 8;
const pageSize = 200;

/**
 * What agents make and others come back for: by name, with all versions. A name that begins with
 * `user:` is found in all sessions of its user.
 * @example const version = await artifacts.save(scope, 'report.csv', [file({ bytes })])
 */
export class Artifacts {
  readonly #records: RecordStore;
  readonly #clock: Clock;

  constructor(records: RecordStore, clock: Clock = Date) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Saves a new version, and returns its number. */
  async save(
    scope: ArtifactScope,
    name: string,
    parts: readonly Part[],
    metadata?: JsonObject,
  ): Promise<number> {
    const keys = keysOf(scope, name);
    const now = this.#clock.now();
    const content = { name, parts, createdAt: now, ...(metadata !== undefined && { metadata }) };
    const size = JSON.stringify(content).length;
    if (size > largestArtifact) {
      throw new LegateError(
        'PAYLOAD_TOO_LARGE',
        `artifact "${name}" has ${size} characters, more than the ${largestArtifact} allowed`,
      );
    }
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const head = await this.#records.get(space, keys.head, now);
      const version = latestOf(head?.value.value) + 1;
      const isWritten = await this.#records.write(
        [
          {
            space,
            key: keys.head,
            value: Json.of({ latest: version }),
            ifVersion: head?.version ?? 0,
          },
          {
            space,
            key: keys.version(version),
            value: Json.of({ ...content, version } as unknown as JsonValue),
          },
        ],
        now,
      );
      if (isWritten) return version;
    }
    throw new LegateError(
      'STORE_FAILED',
      `artifact "${name}" is being written by too many at once`,
    );
  }

  /** The newest version, or the one asked for. */
  async load(
    scope: ArtifactScope,
    name: string,
    version?: number,
  ): Promise<StoredArtifact | undefined> {
    const keys = keysOf(scope, name);
    const now = this.#clock.now();
    const wanted =
      version ?? latestOf((await this.#records.get(space, keys.head, now))?.value.value);
    if (!Number.isInteger(wanted) || wanted < 1) return undefined;
    const found = await this.#records.get(space, keys.version(wanted), now);
    return found?.value.value as unknown as StoredArtifact | undefined;
  }

  /** The names of the session's artifacts and of the user's, in order. */
  async list(scope: ArtifactScope): Promise<readonly string[]> {
    const names: string[] = [];
    for (const prefix of [prefixOf(scope, ''), prefixOf(scope, 'user:')]) {
      for await (const key of this.#keys(`${prefix}h`)) names.push(key.slice(prefix.length + 1));
    }
    return names;
  }

  async versions(scope: ArtifactScope, name: string): Promise<readonly number[]> {
    const { versions } = keysOf(scope, name);
    const found: number[] = [];
    for await (const key of this.#keys(versions)) found.push(Number(key.slice(versions.length)));
    return found;
  }

  /** Deletes all versions. False: there was none. */
  async delete(scope: ArtifactScope, name: string): Promise<boolean> {
    const keys = keysOf(scope, name);
    const now = this.#clock.now();
    const versions = await this.versions(scope, name);
    if (versions.length === 0) return false;
    const writes = versions.map((version) => ({ space, key: keys.version(version) }));
    await this.#records.write([...writes, { space, key: keys.head }], now);
    return true;
  }

  async *#keys(prefix: string): AsyncGenerator<string> {
    for (let after: string | undefined; ;) {
      const page = await this.#records.list({
        space,
        prefix,
        limit: pageSize,
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      for (const { key } of page) yield key;
      after = page.at(-1)?.key;
      if (after === undefined || page.length < pageSize) return;
    }
  }
}

function prefixOf(scope: ArtifactScope, name: string): string {
  const { agent, caller, sessionId } = scope;
  const { tenant, subject } = caller;
  // Anonymous users are many: what is theirs stays with the session.
  const isUsers = name.startsWith('user:') && subject !== '';
  return JSON.stringify([agent, tenant, subject, ...(isUsers ? [] : [sessionId])]);
}

function keysOf(
  scope: ArtifactScope,
  name: string,
): { head: string; versions: string; version: (number: number) => string } {
  if (name === '' || name.length > longestName) {
    throw new LegateError(
      'INVALID_PARAMS',
      `the name of an artifact has 1 to ${longestName} characters`,
    );
  }
  const prefix = prefixOf(scope, name);
  const versions = `${prefix}v${JSON.stringify(name)}`;
  return {
    head: `${prefix}h${name}`,
    versions,
    version: (number) => versions + String(number).padStart(versionDigits, '0'),
  };
}

function latestOf(head: JsonValue | undefined): number {
  const latest = (head as { readonly latest?: unknown } | undefined)?.latest;
  return typeof latest === 'number' ? latest : 0;
}
