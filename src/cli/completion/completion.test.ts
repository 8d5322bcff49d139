import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { legate, patient } from '../testing/legate-process.ts';
import { completedCommands } from './completion.ts';

test('CLI_002: bash completes commands, their commands, flags and values', patient, async () => {
  const { code, out } = await legate(['completion', 'bash']);
  expect(code).toBe(0);
  const completed = (words: readonly string[]): readonly string[] => {
    const line = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
    const script = `${out}\n${line}\n_legate\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
    const answer = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
    return answer.trim().split('\n').sort();
  };
  expect(completed(['legate', 'se'])).toEqual(['send']);
  expect(completed(['legate', 'task', 'push-config', ''])).toEqual([
    'create',
    'delete',
    'get',
    'list',
    'listen',
  ]);
  expect(completed(['legate', 'send', '--as'])).toEqual(['--async']);
  expect(completed(['legate', 'check', '--format', ''])).toEqual(['html', 'json', 'text']);
  expect(completed(['legate', 'completion', '--'])).toEqual(['--help']);
});

test.each(['zsh', 'fish'] as const)(
  'CLI_002: %s is told of every command and flag',
  async (shell) => {
    const { code, out } = await legate(['completion', shell]);
    expect(code).toBe(0);
    for (const { commands, flags } of await completedCommands()) {
      for (const { word } of commands) expect(out).toContain(word);
      for (const { word } of flags) expect(out).toContain(shell === 'fish' ? word.slice(2) : word);
    }
    // Every quote that opens also closes.
    const quotes = out.split('\n').map((line) => (line.match(/'/g) ?? []).length % 2);
    expect(quotes.reduce((sum, odd) => sum + odd, 0)).toBe(0);
  },
);

test('an unknown shell is wrong usage', patient, async () => {
  const { code, err } = await legate(['completion', 'tcsh']);
  expect(code).toBe(2);
  expect(err).toContain('bash, zsh, fish');
});
