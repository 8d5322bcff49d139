import type { Field, Section } from './field.ts';

/** The settings in `store:` of endpoints.yml; undefined where a key is absent. */
export interface StoreSettings {
  readonly type: 'memory' | 'sqlite' | 'postgres';
  /** The file of SQLite. */
  readonly path: string | undefined;
  /** The URL of PostgreSQL. */
  readonly url: string | undefined;
  /** The URL of the server itself, if `url` is that of a pooler. */
  readonly listenUrl: string | undefined;
  readonly maxConnections: number | undefined;
  /** How long ended tasks are kept; 0 forever. */
  readonly taskRetentionSeconds: number | undefined;
  /** How long conversations are kept after their last turn; 0 forever. */
  readonly contextRetentionSeconds: number | undefined;
}

const types = ['memory', 'sqlite', 'postgres'] as const;
const seconds = { minimum: 0, isInteger: true };

/** Reads `store:` with all its keys. */
export function readStore(section: Section): StoreSettings {
  const type = section.get('type')?.oneOf(types) ?? 'sqlite';
  const url = section.get('url');
  if (type === 'postgres') section.require('url', 'write "${DATABASE_URL}"');
  else url?.keyError(`"url" does not belong to ${type}`, { hint: 'write type: postgres' });
  refuseWrittenPassword(url);
  const listenUrl = section.get('listen_url');
  refuseWrittenPassword(listenUrl);
  const settings = {
    type,
    path: section.name('path'),
    url: url?.name(),
    listenUrl: listenUrl?.name(),
    maxConnections: section.number('max_connections', { minimum: 1, isInteger: true }),
    taskRetentionSeconds: section.number('task_retention_seconds', seconds),
    contextRetentionSeconds: section.number('context_retention_seconds', seconds),
  };
  section.finish();
  return settings;
}

/** Reports a URL with a password as a secret, unless its password comes from the environment. */
function refuseWrittenPassword(url: Field | undefined): void {
  if (url === undefined || typeof url.value !== 'string') return;
  if (/:\/\/[^/@]*:[^/@]+@/.test(url.value) && !url.file.isInterpolated(url.path)) url.secret();
}
