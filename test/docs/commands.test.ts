import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { rows } from '../../bench/rows/index.ts';
import { catalogue } from '../../src/cli/commands/catalogue.ts';
import { blocksOf } from '../newcomer/markdown.ts';

const root = join(import.meta.dirname, '../..');
const pages = globSync('{*.md,docs/**/*.md,examples/**/*.md}', { cwd: root })
  // Written from the commands themselves.
  .filter((page) => page !== 'docs/reference/cli.md')
  .sort();

/** Commands of `legate` by their names and other names. */
const commands = new Map<string, Command>(
  catalogue().flatMap((command) =>
    [command.name(), ...command.aliases()].map((name) => [name, command] as const),
  ),
);

/** Whatever a page tells to type: lines of shell, code in sentences, and arguments of containers. */
function typedIn(text: string): readonly string[] {
  const blocks = blocksOf(text);
  const lines = blocks
    .filter(({ language }) => language === 'sh' || language === 'yaml')
    .flatMap(({ body }) => body.replaceAll(/\\\n\s*/g, ' ').split('\n'))
    .map((line) => line.replace(/\s+#.*$/, ''));
  const spans = text
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/`((?:npx )?legate [^`]+|npm [^`]+)`/g);
  const args = blocks
    .filter(({ body }) => body.includes('containers:'))
    .flatMap(({ body }) => [...body.matchAll(/^\s*args: \[(.+)\]$/gm)])
    .map(([, list = '']) => `legate ${list.replaceAll(/[",]/g, ' ')}`);
  return [...lines, ...Array.from(spans, ([, typed = '']) => typed), ...args];
}

/** What is wrong with a line that calls `legate`; undefined where nothing is, or it calls something else. */
function mistakeIn(line: string): string | undefined {
  const [, typed] = /(?:^|\bcommand: |&& |npx |bin\/)legate(?:\.cjs)? (.+)$/.exec(line) ?? [];
  if (typed === undefined) return undefined;
  const words = typed.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  // `legate bus dead list|retry` and `legate trust list`, `grant`: what is common to all is looked at.
  const [name = '', ...rest] = words;
  if (name.startsWith('-') || name === 'COMMAND') return undefined;
  const first = commands.get(name);
  if (first === undefined) return `${line}: there is no command "${name}"`;
  let command: Command = first;
  for (const word of rest) {
    const inner: Command | undefined = command.commands.find(
      (one) => one.name() === word || one.alias() === word,
    );
    if (inner === undefined) break;
    command = inner;
  }
  const known = command.options.flatMap(({ long, short }) => [long, short]);
  for (const word of rest) {
    const [, flag] = /^(--?[a-z][\w-]*)/.exec(word) ?? [];
    if (flag !== undefined && flag !== '--help' && !known.includes(flag)) {
      return `${line}: ${command.name()} has no ${flag}`;
    }
  }
  return undefined;
}

test.each(pages)('%s names commands and flags that there are', (page) => {
  const typed = typedIn(readFileSync(join(root, page), 'utf8'));
  expect(typed.map(mistakeIn).filter((mistake) => mistake !== undefined)).toEqual([]);
});

test('a command or a flag that there is not is found', () => {
  expect(mistakeIn('legate serve x')).toBe('legate serve x: there is no command "serve"');
  expect(mistakeIn('npx legate run x --pot 1')).toBe('npx legate run x --pot 1: run has no --pot');
  expect(mistakeIn('legate run x --port 1')).toBeUndefined();
});

test('scripts of npm and rows of the benchmark that pages name are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const wrong: string[] = [];
  for (const page of pages) {
    for (const line of typedIn(readFileSync(join(root, page), 'utf8'))) {
      const [, script] = /npm (?:run )?([a-z:-]+)/.exec(line) ?? [];
      const isOwn = script === undefined || /^(?:ci|init|install|pkg|pack)$/.test(script);
      if (!isOwn && scripts[script] === undefined) wrong.push(`${page}: ${line}`);
      const [, row] = /bench -- --only ([a-z-]+)/.exec(line) ?? [];
      if (row !== undefined && !rows.some(({ name }) => name === row)) {
        wrong.push(`${page}: ${line}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});
