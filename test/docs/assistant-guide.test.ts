import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectFolder } from '../support/greenhouse.ts';
import { giveInput } from '../../src/cli/testing/input.ts';
import { patient } from '../../src/cli/testing/legate-process.ts';

const root = join(import.meta.dirname, '../..');

/** The blocks of the guide that have a title, by their titles. */
async function blocks(): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(join(root, 'docs/guides/assistant.md'), 'utf8');
  const found = text.matchAll(/^```\w+ title=(\S+)\n([\s\S]*?)^```$/gm);
  return Object.fromEntries([...found].map(([, title = '', body = '']) => [title, body]));
}

async function legate(args: readonly string[], input = ''): Promise<{ code: number; out: string }> {
  const child = spawn(process.execPath, [join(root, 'bin/legate.cjs'), ...args]);
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (out += text));
  giveInput(child.stdin, input);
  const code = await new Promise<number>((resolve) => child.on('close', resolve));
  return { code, out };
}

test(
  'the assistant of the guide is valid, says what the guide says, and passes its tests',
  patient,
  async () => {
    const { shell = '', ...files } = await blocks();
    await using folder = await projectFolder(files);
    const valid = await legate(['validate', folder.directory]);
    expect(valid).toEqual({ code: 0, out: '1 flow: no errors, 0 warnings\n' });
    const lines = shell.split('\n');
    const said = lines.filter((line) => line.startsWith('> ')).map((line) => line.slice(2));
    const talk = await legate(['shell', folder.directory], `${said.join('\n')}\n`);
    expect(talk.out).toBe(lines.filter((line) => !line.startsWith('> ')).join('\n'));
    const tests = await legate(['test', 'e2e', folder.path('tests')]);
    expect(tests.out).toContain('2 passed, 0 failed');
    expect(tests.code).toBe(0);
  },
);
