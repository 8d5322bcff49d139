import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentTable } from './environment.ts';
import { type KeyTable, keyTables } from './keys.ts';
import { sources } from './scan.ts';

const root = join(import.meta.dirname, '../..');

/** Matches the keys that code reads: `section.number('port')`, lists of keys, fields of a schema. */
const asked =
  /\.(?:text|name|boolean|number|list|names|section|mapping|items|record|object|json|secret|get|getEvenEmpty|require)\(\s*'([a-z0-9_]+)'/g;
const listed =
  /(?:for \(const \w+ of|Kinds =|secrets =|numbers =|absent =|replaced =) ?\[([^\]]+)\]/g;
const inSchema = /^\s+([a-z_]+): (?:z(?:\.|$)|positive|routerConfig)/gm;
/** Matches readers in a map by key. */
const dispatched = /^ {2}([a-z_]+): read[A-Z]\w*,$/gm;
const destructured = /const \{([^}]+)\} = fields;/g;

/** Every key that a file reads. */
export function keysReadBy(file: string): ReadonlySet<string> {
  const text = readFileSync(join(root, file), 'utf8');
  const keys = [
    ...[...text.matchAll(asked)].map(([, key]) => key),
    ...[...text.matchAll(inSchema), ...text.matchAll(dispatched)].map(([, key]) => key),
    ...[...text.matchAll(listed), ...text.matchAll(destructured)].flatMap(([, list = '']) =>
      file.endsWith('endpoints.ts')
        ? []
        : [...list.matchAll(/(?:^|[\s,'])([a-z_0-9]+)(?=[':=, ]|$)/g)].map(([, key]) => key),
    ),
  ];
  return new Set(keys.filter((key) => key !== undefined && !ignored.has(key)) as string[]);
}

/** Words in these lists that are not keys. */
const ignored = new Set(['const', 'join', 'legate', 'sqlite', 'store']);

const importsReader = /import[^;]*\b(?:Field|Section)\b[^;]*config\/index\.ts'/;

/** Files that read keys of a project and are in no table. */
export function readersWithoutTable(): readonly string[] {
  const described = new Set([...keyTables.flatMap(({ files }) => files), ...besides]);
  return [...sources()]
    .filter(([file, text]) => importsReader.test(text) && !described.has(file))
    .map(([file]) => file)
    .filter((file) => keysReadBy(file).size > 0);
}

/** Files that read keys of other readers again, or other data. */
const besides = [
  'src/assistant/project/validate-flows.ts',
  'src/cli/endpoints-file.ts',
  'src/cli/load-agent.ts',
];

/** The mismatches of a table: keys that are read but not described, and keys that are described but not read. */
export function mismatches({ title, files, keys }: KeyTable): readonly string[] {
  const read = new Set(files.flatMap((file) => [...keysReadBy(file)]));
  const described = new Set(Object.keys(keys).map(lastPart));
  return [
    ...[...read]
      .filter((key) => !described.has(key))
      .map((key) => `${title}: ${key} is not described`),
    ...[...described]
      .filter((key) => !read.has(key) && !keptElsewhere.has(key))
      .map((key) => `${title}: ${key} is described, but not read`),
  ];
}

/** Keys that are read as the name of a block, or by a reader of another table. */
const keptElsewhere = new Set(['store']);

function lastPart(path: string): string {
  return path.split('.').at(-1)?.replace('[]', '') ?? path;
}

export function configurationPage(): string {
  const wrong = keyTables.flatMap(mismatches);
  if (wrong.length > 0) throw new Error(`scripts/reference/keys.ts:\n${wrong.join('\n')}`);
  const tables = keyTables.map(({ title, intro, keys }) =>
    [
      `## ${title}`,
      ...(intro === undefined ? [] : [intro]),
      [
        '| key | default | |',
        '|---|---|---|',
        ...Object.entries(keys).map(
          ([key, [standard, meaning]]) => `| \`${key}\` | ${standard} | ${meaning} |`,
        ),
      ].join('\n'),
    ].join('\n\n'),
  );
  return [
    '# Configuration',
    'Every key of the files of a project, and every variable of the environment. Options of functions: [API](api.md). A key that is not here is an error, with the nearest known one; where files of Rasa may have keys of their own, it is a warning.',
    ...tables,
    environmentTable(),
  ].join('\n\n');
}
