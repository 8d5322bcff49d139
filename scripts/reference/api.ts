import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { membersOf } from './declared-members.ts';
import { entryFiles, type Exported, exportsOf } from './exports.ts';
import { memberTable, nestedOptionTables, plain } from './options.ts';

const root = join(import.meta.dirname, '../..');

/** Matches the names of types with options of functions. */
const isOptions = /(?:Options|Settings|Callbacks|RunRequest|Context)$/;

/** The exports of every entry of the package, and all options. */
export function apiPage(): string {
  const sections = entryFiles.flatMap((entryFile) => {
    const all = exportsOf(join(root, 'src', entryFile)).toSorted((one, other) =>
      one.name.localeCompare(other.name, 'en'),
    );
    const entry =
      entryFile === 'index.ts' ? 'legate' : `legate/${entryFile.replace('/index.ts', '')}`;
    const values = all.filter(({ kind }) => kind !== 'interface' && kind !== 'type');
    const rows = values.map((each) => `| \`${each.name}\` | ${each.kind} | ${summaryOf(each)} |`);
    const table = ['| export | kind | |', '|---|---|---|', ...rows].join('\n');
    const tables = all.flatMap((each) => optionTable(entry, each));
    const about = moduleSummary(join(root, 'src', entryFile));
    return [`## ${entry}`, about, `\`import { ... } from '${entry}'\``, table, ...tables];
  });
  return [
    '# API',
    'What the package exports, and the options of every function. Each export has an example in its type declaration: your editor shows it. Options of commands and of YAML files: [commands](cli.md), [configuration](configuration.md).',
    ...sections,
    '## Nested options',
    ...nestedOptionTables(),
  ].join('\n\n');
}

function optionTable(entry: string, each: Exported): readonly string[] {
  if (!isOptions.test(each.name)) return [];
  const members = membersOf(each.name, each.file);
  return members.length === 0
    ? []
    : [`### ${each.name} (${entry})`, summaryOf(each), memberTable(members)];
}

/** The comment at the start of an entry. */
function moduleSummary(file: string): string {
  const [, text] = /^\/\*\*\n \* (.+)\n \* @module\n/.exec(readFileSync(file, 'utf8')) ?? [];
  if (text === undefined) throw new Error(`${file} has no @module comment of one line`);
  return text;
}

function summaryOf({ comment = '' }: Exported): string {
  return plain(comment).replace(/\s*@(?:example|module).*$/, '');
}
