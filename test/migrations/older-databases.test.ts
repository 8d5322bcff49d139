/**
 * Databases of older versions, as their servers left them.
 *
 * - `sqlite-N`, `postgres-N`: each version served the same agent, and got two orders and a message that it asked back
 *   about.
 * - `conversations-sqlite-N`: each version first served `desk` twice, with `push`: a task with a webhook that was
 *   given up after one attempt, then one whose webhook has an hour until its second attempt. Then it served the
 *   assistant of this file, which asked back over A2A (context `open`) and over the REST channel (sender `ada`). It was
 *   killed (SIGKILL) with two messages of sender `bob`: one in an action, one queued. Since schema 7, messages of the
 *   REST channel are commands. Made by the code of 468e37f9 (schema 2), 217306a2 (5) and 36411ed8 (8); the write-ahead
 *   log is part of the file (`VACUUM INTO`).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { agent, completed, inputRequired, textOf } from '../../src/agents/index.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact, message, type Task } from '../../src/protocol/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { projectFolder } from '../support/greenhouse.ts';
import { postgres } from '../support/postgres.ts';
import { temporaryDirectory } from '../support/stores.ts';

/** The agent that the older servers had. */
const desk = agent({ name: 'desk', description: 'Takes orders' }, async function* (turn) {
  if (textOf(turn.message) === 'ask') {
    yield inputRequired('Which size?');
    return;
  }
  yield artifact(`Order for ${textOf(turn.message)}`);
  yield completed('Done.');
});

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.gz'));
const conversations = files.filter((name) => name.startsWith('conversations-'));
const databases = files.filter((name) => !conversations.includes(name));

async function opened(file: string, directory: string): Promise<Store> {
  const content = gunzipSync(readFileSync(join(import.meta.dirname, file)));
  if (file.includes('sqlite')) {
    const path = join(directory, 'store.db');
    writeFileSync(path, content);
    return openStore({ type: 'sqlite', path });
  }
  const url = await (await postgres()).database();
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(withoutCommands(content.toString()));
  await client.end();
  return openStore({ type: 'postgres', url });
}

/** The data as INSERTs; newer versions of pg_dump add commands of psql, which start with a backslash. */
function withoutCommands(dump: string): string {
  return dump.replaceAll(/^\\.*$/gm, '');
}

function orderOf({ artifacts = [] }: Task): string | undefined {
  return artifacts[0]?.parts[0]?.text;
}

test.each(databases)('tasks and questions of %s are there, and continue', async (file) => {
  await using directory = await temporaryDirectory();
  const store = await opened(file, directory.path);
  await using server = await serve(desk, { store, drainMs: 0, retentionMs: 0 });
  const client = await connect(server.url);
  const { tasks, totalSize } = await client.listTasks({ includeArtifacts: true });
  expect(totalSize).toBe(3);
  const ended = tasks.filter(({ status }) => status.state === 'TASK_STATE_COMPLETED');
  expect(new Set(ended.map(orderOf))).toEqual(new Set(['Order for cake', 'Order for tea']));
  const [asked] = tasks.filter(({ status }) => status.state === 'TASK_STATE_INPUT_REQUIRED');
  expect(asked?.status.message?.parts[0]?.text).toBe('Which size?');
  const about = { taskId: asked?.id ?? '', contextId: 'open' };
  const answered = await client.sendMessage(message('large', about));
  expect('task' in answered && orderOf(answered.task)).toBe('Order for large');
  const known = await client.getTask(asked?.id ?? '');
  expect(known.history?.map(({ parts }) => parts[0]?.text)).toEqual([
    'ask',
    'Which size?',
    'large',
  ]);
  const ordered = await client.sendMessage(message('bread', { contextId: 'order' }));
  expect('task' in ordered && ordered.task.status.state).toBe('TASK_STATE_COMPLETED');
  expect((await client.listTasks({ contextId: 'order' })).totalSize).toBe(3);
  await server.close();
  await store.close();
});

/** The assistant that the older servers had. */
const greenhouse = {
  'config.yml': 'assistant_id: greenhouse\npipeline: [{name: MatchingCommandGenerator}]\n',
  'domain.yml': `
version: "3.1"
session_config: {session_expiration_time: 60, start_session_after_expiry: false}
actions: [action_wait]
slots:
  plant: {type: text}
  litres: {type: float}
responses:
  utter_ask_plant: [{text: "Which plant?"}]
  utter_ask_litres: [{text: "How many litres?"}]
  utter_watered: [{text: "{plant} got {litres} litres."}]
`,
  'data/flows.yml': `
flows:
  water_plants:
    name: watering
    description: Water a plant.
    steps:
      - collect: plant
      - collect: litres
      - action: utter_watered
  wait_for_rain:
    name: rain
    description: Wait for the rain.
    steps:
      - action: action_wait
`,
  'actions.ts': `
import { appendFileSync } from 'node:fs';
export const wait = {
  name: 'action_wait',
  run: async () => appendFileSync(new URL('ran', import.meta.url), 'x'),
};
`,
  'endpoints.yml': `
a2a_server: {description: Looks after a greenhouse.}
action_endpoint: {actions_module: actions.ts}
store: {type: memory, task_retention_seconds: 0}
`,
};

/** A message through the REST channel; returns the texts of the answer. */
async function say(url: string, sender: string, text: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/webhooks/rest/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender, message: text }),
  });
  const said = (await response.json()) as readonly { readonly text?: unknown }[];
  return said.map((one) => one.text);
}

test.each(conversations)('conversations of %s continue in their open flows', async (file) => {
  await using directory = await temporaryDirectory();
  await using folder = await projectFolder(greenhouse);
  const store = await opened(file, directory.path);
  const serving = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
    store,
    drainMs: 0,
  });
  const client = await connect(serving.url);
  const { tasks } = await client.listTasks({ contextId: 'open' });
  expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_INPUT_REQUIRED']);
  const about = { taskId: tasks[0]?.id ?? '', contextId: 'open' };
  const answered = await client.sendMessage(message('5', about));
  if (!('task' in answered)) throw new Error('a task was expected');
  expect(answered.task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(JSON.stringify(answered.task.status.message)).toContain('Monstera got 5 litres.');

  expect((await say(serving.url, 'ada', '7'))[0]).toBe('Ficus got 7 litres.');
  // What was under way when the process was killed holds up nothing, and does not run again.
  expect(await say(serving.url, 'bob', 'water the Palm')).toEqual(['How many litres?']);
  expect(existsSync(folder.path('ran'))).toBe(false);
  await serving.close();
  await store.close();
});

test.each(conversations)('webhooks of %s are there, with their deliveries', async (file) => {
  await using directory = await temporaryDirectory();
  const store = await opened(file, directory.path);
  const { push } = store;
  expect(await push.counts()).toEqual({ pending: 2, dead: 2 });
  const deliveries = await push.deliveries({ limit: 10 });
  expect(
    deliveries.map((one) => [one.push.config.id, one.sequence, one.attempts, one.state]),
  ).toEqual([
    ['given-up-hook', 1, 1, 'dead'],
    ['given-up-hook', 2, 1, 'dead'],
    ['pending-hook', 1, 1, 'pending'],
    ['pending-hook', 2, 0, 'pending'],
  ]);
  for (const { unreadable, attempts, lastError, push: webhook } of deliveries) {
    expect(unreadable).toBeUndefined();
    expect(webhook.config.token).toBe(webhook.config.id.replace('-hook', '-token'));
    if (attempts > 0) expect(lastError).toContain('ECONNREFUSED');
  }
  const server = await serve(desk, { store, push: {}, drainMs: 0, retentionMs: 0 });
  const client = await connect(server.url);
  for (const contextId of ['given-up', 'pending']) {
    const { tasks } = await client.listTasks({ contextId });
    const { configs } = await client.listTaskPushNotificationConfigs({
      taskId: tasks[0]?.id ?? '',
    });
    // Callers are not shown the token again.
    const url = `http://127.0.0.1:8098/${contextId}`;
    expect(configs).toMatchObject([{ id: `${contextId}-hook`, url }]);
  }
  await server.close();
  // An operator can have one sent again.
  expect(await push.revive(deliveries[0]?.id ?? 0)).toBe(true);
  expect(await push.counts()).toMatchObject({ dead: 1 });
  await store.close();
});
