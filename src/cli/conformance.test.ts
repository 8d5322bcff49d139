import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fieldsOf, legate, start, patient } from './testing/legate-process.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/cli-conformance.md'), 'utf8');

interface Row {
  readonly id: string;
  readonly shown: string;
  readonly by: string;
}

const rows: readonly Row[] = [
  ...page.matchAll(/^\| `(A2ACLI_\w+_\d{3})` \| .* \| (\S+) \| (.*) \|$/gm),
].map(([, id = '', shown = '', by = '']) => ({ id, shown, by }));

test('the page on the A2A CLI specification has each of its 66 requirements once', () => {
  expect(new Set(rows.map(({ id }) => id)).size).toBe(66);
  expect(rows).toHaveLength(66);
  for (const { shown, by } of rows) {
    expect(['yes', 'partial', 'no', 'n/a']).toContain(shown);
    // Each requirement needs a test or a reason why it has none.
    expect(by).not.toBe('');
  }
});

test('whatever the page says is shown has a test of that name in the file that it names', () => {
  for (const { id, shown, by } of rows) {
    if (shown !== 'yes') continue;
    const files = [...by.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, file = '']) => file);
    expect(files, id).not.toEqual([]);
    for (const file of files) {
      const text = readFileSync(join(import.meta.dirname, file), 'utf8');
      expect(text, `${file} ${id}`).toContain(id.slice('A2ACLI_'.length));
    }
  }
});

test('the counts of the page are right', () => {
  const counts = [
    ...page.matchAll(/^\| Tier .* \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm),
  ];
  const total = counts.reduce((sum, [, all]) => sum + Number(all), 0);
  expect(total).toBe(66);
  for (const [index, word] of (['yes', 'partial', 'no', 'n/a'] as const).entries()) {
    const counted = counts.reduce((sum, match) => sum + Number(match[index + 2]), 0);
    expect([word, counted]).toEqual([word, rows.filter(({ shown }) => shown === word).length]);
  }
});

test('DEMO_SERVER_001: demo-server is an agent to practise on', patient, async () => {
  const running = start(['demo-server', '-p', '0']);
  await expect.poll(() => running.out, { timeout: 60_000 }).toContain('Stop:');
  const url = /at (http:\/\/localhost:\d+)/.exec(running.out)?.[1] ?? '';
  const sent = await legate(['send', url, 'world']);
  expect(sent.out).toContain('Hello, world!');
  expect(fieldsOf(sent.out)['State']).toBe('TASK_STATE_COMPLETED');
  running.child.kill('SIGTERM');
  expect((await running.ended).code).toBe(0);
});
