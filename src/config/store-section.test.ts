import { expect, test } from 'vitest';
import { Field, formatProblem, Problems, readStore, type Section, YamlFile } from './index.ts';

function read(text: string, environment = {}) {
  const problems = new Problems();
  const file = YamlFile.parse({ file: 'endpoints.yml', text }, problems, { environment });
  const settings = readStore(Field.root(file, problems).section() as Section);
  return { settings, problems: problems.all.map(formatProblem) };
}

test('everything that a store can be told', () => {
  const text = [
    'type: postgres',
    'url: ${DATABASE_URL}',
    'listen_url: postgres://db/x',
    'max_connections: 4',
    'task_retention_seconds: 86400',
    'context_retention_seconds: ${KEEP}',
  ].join('\n');
  const environment = { DATABASE_URL: 'postgres://me:secret@db/x', KEEP: '3600' };
  expect(read(text, environment)).toEqual({
    problems: [],
    settings: {
      type: 'postgres',
      path: undefined,
      url: 'postgres://me:secret@db/x',
      listenUrl: 'postgres://db/x',
      maxConnections: 4,
      taskRetentionSeconds: 86_400,
      contextRetentionSeconds: 3_600,
    },
  });
  expect(read('path: x.db').settings).toMatchObject({ type: 'sqlite', path: 'x.db' });
});

test.each([
  ['type: mysql', '1:7 type: must be one of memory, sqlite, postgres, but is "mysql"'],
  ['type: postgres', '1:1: "url" is missing; write "${DATABASE_URL}"'],
  ['url: postgres://db/x', '1:1 url: "url" does not belong to sqlite; write type: postgres'],
  [
    'task_retention_seconds: -1',
    '1:25 task_retention_seconds: must be a whole number that is not less than 0, but is -1',
  ],
  ['retention_seconds: 5', '1:1 retention_seconds: unknown key "retention_seconds"'],
])('%s is refused, with its place', (text, problem) => {
  expect(read(text).problems).toEqual([expect.stringContaining(problem)]);
});

test('a password in the file is refused, and not repeated', () => {
  const { problems } = read('type: postgres\nurl: postgres://me:hunter2@db/x');
  expect(problems).toEqual([expect.stringContaining('2:6 url: a secret must not be written')]);
  expect(problems.join()).not.toContain('hunter2');
});
