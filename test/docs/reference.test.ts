import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mismatches, readersWithoutTable } from '../../scripts/reference/configuration.ts';
import { environmentMismatches } from '../../scripts/reference/environment.ts';
import { keyTables } from '../../scripts/reference/keys.ts';
import { rasaKeys, rowOf, untriedKeys } from '../../scripts/reference/from-rasa.ts';
import { apiPage } from '../../scripts/reference/api.ts';
import { withModuleGraph } from '../../scripts/reference/modules.ts';
import { monitoringFiles } from '../../scripts/reference/monitoring.ts';
import { referencePages } from '../../scripts/reference/pages.ts';
import { logMeanings } from '../../scripts/reference/log-meanings.ts';
import {
  countedMetrics,
  loggedEvents,
  namelessLogCalls,
  startedSpans,
} from '../../scripts/reference/scan.ts';
import { metricTable } from '../../src/telemetry/index.ts';

const root = join(import.meta.dirname, '../..');

test.each(keyTables.map((table) => [table.title, table] as const))(
  'every key that is read is described, and the other way: %s',
  (_, table) => {
    expect(mismatches(table)).toEqual([]);
    const unexplained = Object.entries(table.keys).filter(([, [, meaning]]) => meaning === '');
    expect(unexplained).toEqual([]);
  },
);

test('every file that reads keys belongs to a table', () => {
  expect(readersWithoutTable()).toEqual([]);
});

test('every variable of the environment that is read is described, and the other way', () => {
  expect(environmentMismatches()).toEqual([]);
});

test('an undescribed key is reported', () => {
  const [first] = keyTables;
  expect(first).toBeDefined();
  if (first === undefined) return;
  const { assistant_id: _, ...keys } = first.keys;
  expect(mismatches({ ...first, keys })).toEqual(['config.yml: assistant_id is not described']);
  const more = { ...first.keys, invented: ['', ''] } as const;
  expect(mismatches({ ...first, keys: more })).toEqual([
    'config.yml: invented is described, but not read',
  ]);
});

test('every option of agents, tools, models, runners and servers says what it is for', () => {
  const [, ofPackage = '', , , ofModels = ''] = apiPage().split('\n## ');
  const rows = [...ofPackage.split('\n'), ...ofModels.split('\n')];
  expect(rows.some((row) => row.startsWith('| `maxIterations` |'))).toBe(true);
  expect(rows.filter((row) => /^\| `\w+` \|.*\| *\|$/.test(row))).toEqual([]);
});

test('the reference is what the code says; else: npm run reference', async () => {
  for (const [name, text] of await referencePages()) {
    const written = await readFile(join(root, 'docs/reference', name), 'utf8');
    expect(written, `docs/reference/${name} is stale: npm run reference`).toBe(text);
  }
});

const keysOfRasa = await rasaKeys();
const writtenKeys = await readFile(join(root, 'docs/reference/rasa-keys.md'), 'utf8');

test.each(keysOfRasa.map((one) => [one.file, one.key, one.treatment, one] as const))(
  '%s: %s is %s, as its page says',
  (file, _key, _treatment, one) => {
    const ofFile = writtenKeys.split(`\n## ${file}\n`)[1]?.split('\n## ')[0] ?? '';
    expect(ofFile.split('\n')).toContain(rowOf(one));
  },
);

test('every key that the loader reads is tried, and none of Rasa but tls keeps a project from loading', () => {
  expect(untriedKeys(keysOfRasa)).toEqual([]);
  expect(untriedKeys(keysOfRasa.filter(({ key }) => key !== 'slots.*.values'))).toEqual([
    'domain.yml: slots.*.values',
  ]);
  const refused = keysOfRasa.filter(({ treatment }) => treatment === 'error');
  expect(refused.map(({ key }) => key)).toEqual(['a2a_server.tls']);
});

test('what has no effect is said to have none by the page of all keys', () => {
  const silent = keysOfRasa.filter(({ treatment }) => treatment === 'no effect').map(rowOf);
  expect(silent.filter((row) => !/left alone|no effect\b.*\| .*no effect/i.test(row))).toEqual([]);
});

test('the log events that operators of Rasa have alerts for are logged', () => {
  expect([...loggedEvents().keys()]).toEqual(
    expect.arrayContaining([
      'a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready',
      'a2a_server.rasa_a2a_agent_executor.execute.context_limit',
      'a2a_server.rasa_a2a_agent_executor.task_timeout',
      'a2a_server.sanic_app.message_in_flight_conflict',
      'a2a_server.sanic_app.auth_rejected',
      'a2a_server.message_adapter.skip_slot.invalid_value',
      'a2a_server.sanic_app.stream_sse.error',
    ]),
  );
});

test('every event that is logged is described, and the other way', () => {
  expect(namelessLogCalls()).toEqual([]);
  const logged = [...loggedEvents().keys()].sort();
  expect(Object.keys(logMeanings).sort()).toEqual(logged);
});

test('the metrics and spans of calling peers have their names', () => {
  for (const name of ['polling_attempts', 'input_required_rounds', 'input_required_breaks']) {
    expect(countedMetrics()).toContain(`legate.a2a.${name}`);
    expect(metricTable).toHaveProperty([`legate.a2a.${name}`]);
  }
  for (const name of ['poll_loop', 'input_required_loop', 'input_required_round']) {
    expect(startedSpans()).toContain(`legate.a2a.${name}`);
  }
});

test('ARCHITECTURE.md draws the imports that there are; else: npm run reference', async () => {
  const text = await readFile(join(root, 'ARCHITECTURE.md'), 'utf8');
  expect(text).toBe(withModuleGraph(text));
});

test.each([...monitoringFiles()])('%s is what npm run reference writes', async (file, text) => {
  expect(await readFile(join(root, file), 'utf8')).toBe(text);
});
