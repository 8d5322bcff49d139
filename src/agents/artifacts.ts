import { z } from 'zod';
import { type JsonObject, LegateError, type Part, textOf } from '../protocol/index.ts';
import { RecordSpace, type RecordStore } from '../store/index.ts';
import type { Caller, Clock } from './agent.ts';
import { jsonObject, part } from './stored.ts';
import { type Tool, tool } from './tools/tool.ts';

/**
 * The owner of the artifacts.
 * @example const scope: ArtifactScope = { agent: 'clerk', caller: turn.caller, sessionId: turn.contextId };
 */
export interface ArtifactScope {
  readonly agent: string;
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
  readonly sessionId: string;
}

/**
 * A stored artifact, with its version.
 * @example
 * const title = ({ name, version, createdAt }: StoredArtifact) =>
 *   `${name}, version ${version} of ${new Date(createdAt).toDateString()}`;
 */
export interface StoredArtifact {
  readonly name: string;
  /** Starts at 1. */
  readonly version: number;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

const space = 'agent-artifacts';
const maxArtifactSize = 8 * 1024 * 1024;
const maxNameLength = 256;
const maxAttempts = 20;
const versionDigits = 8;

const head = z.object({ latest: z.number() });
const stored = z.object({
  name: z.string(),
  version: z.number(),
  parts: z.array(part).readonly(),
  metadata: jsonObject.exactOptional(),
  createdAt: z.number(),
});

/**
 * Stores artifacts by name, with all versions. A name that starts with `user:` is visible in all
 * sessions of its user.
 * @example const version = await artifacts.save(scope, 'report.csv', [file({ bytes })])
 */
export class Artifacts {
  readonly #heads: RecordSpace<z.infer<typeof head>>;
  readonly #versions: RecordSpace<StoredArtifact>;
  readonly #clock: Clock;

  constructor(records: RecordStore, clock: Clock = Date) {
    this.#heads = new RecordSpace({ records, space, schema: head, clock });
    this.#versions = new RecordSpace({ records, space, schema: stored, clock });
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
    const createdAt = this.#clock.now();
    const content = { name, parts: [...parts], createdAt, ...(metadata && { metadata }) };
    const size = JSON.stringify(content).length;
    if (size > maxArtifactSize) {
      throw new LegateError(
        'PAYLOAD_TOO_LARGE',
        `artifact "${name}" has ${size} characters, more than the ${maxArtifactSize} allowed`,
      );
    }
    const { latest } = await this.#heads.change(
      keys.head,
      (before) => {
        const version = (before?.value.latest ?? 0) + 1;
        const write = this.#versions.toWrite(keys.version(version), { ...content, version });
        return { value: { latest: version }, also: [write] };
      },
      maxAttempts,
    );
    return latest;
  }

  /** Returns the latest version, or the requested one. */
  async load(
    scope: ArtifactScope,
    name: string,
    version?: number,
  ): Promise<StoredArtifact | undefined> {
    const keys = keysOf(scope, name);
    const wanted = version ?? (await this.#heads.get(keys.head))?.value.latest ?? 0;
    if (!Number.isInteger(wanted) || wanted < 1) return undefined;
    return (await this.#versions.get(keys.version(wanted)))?.value;
  }

  /** The names of the artifacts of the session and of the user, sorted. */
  async list(scope: ArtifactScope): Promise<readonly string[]> {
    const names: string[] = [];
    // The two are the same for anonymous users.
    for (const prefix of new Set([prefixOf(scope, ''), prefixOf(scope, 'user:')])) {
      for await (const key of this.#heads.keys(`${prefix}h`))
        names.push(key.slice(prefix.length + 1));
    }
    return names;
  }

  async versions(scope: ArtifactScope, name: string): Promise<readonly number[]> {
    const { versions } = keysOf(scope, name);
    const found: number[] = [];
    for await (const key of this.#versions.keys(versions))
      found.push(Number(key.slice(versions.length)));
    return found;
  }

  /** Deletes all versions. Returns false if there were none. */
  async delete(scope: ArtifactScope, name: string): Promise<boolean> {
    const keys = keysOf(scope, name);
    const versions = await this.versions(scope, name);
    if (versions.length === 0) return false;
    const gone = [keys.head, ...versions.map((version) => keys.version(version))];
    await this.#heads.write(...gone.map((key) => this.#heads.toWrite(key)));
    return true;
  }
}

function prefixOf(scope: ArtifactScope, name: string): string {
  const { agent, caller, sessionId } = scope;
  const { tenant, subject } = caller;
  // Anonymous users share an empty subject, so their artifacts stay within the session.
  const isUsers = name.startsWith('user:') && subject !== '';
  return JSON.stringify([agent, tenant, subject, ...(isUsers ? [] : [sessionId])]);
}

function keysOf(
  scope: ArtifactScope,
  name: string,
): { head: string; versions: string; version: (number: number) => string } {
  if (name === '' || name.length > maxNameLength) {
    throw new LegateError(
      'INVALID_PARAMS',
      `the name of an artifact has 1 to ${maxNameLength} characters`,
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

/**
 * A tool for models: reads an artifact of the session by name, or lists the names.
 * @example llmAgent({ name: 'clerk', model, tools: [loadArtifact(artifacts)] })
 */
export function loadArtifact(
  artifacts: Artifacts,
  options: { readonly agent?: string } = {},
): Tool {
  return tool({
    name: 'load_artifact',
    description: 'Reads an artifact of this conversation. Without a name, lists all names.',
    input: z.object({ name: z.string().optional(), version: z.int().min(1).optional() }),
    isIdempotent: true,
    run: async ({ name, version }, { turn, agent }) => {
      const { caller, contextId: sessionId } = turn;
      const scope = { agent: options.agent ?? agent, caller, sessionId };
      if (name === undefined) return { names: await artifacts.list(scope) };
      const found = await artifacts.load(scope, name, version);
      if (found === undefined) throw new Error(`there is no artifact named "${name}"`);
      const data = found.parts.flatMap((part) => (part.data === undefined ? [] : [part.data]));
      return {
        name: found.name,
        version: found.version,
        text: textOf(found),
        ...(data.length > 0 && { data }),
      };
    },
  });
}
