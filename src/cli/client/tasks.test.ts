import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serve, type Serving } from '../../http/index.ts';
import type { ListTasksResponse, StreamResponse, Task } from '../../protocol/index.ts';
import { shortTime } from './tasks.ts';
import { fieldsOf, legate, start, patient } from '../testing/legate-process.ts';
import { rawAgent, rawCard, result, sendJson } from '../testing/raw-agent.ts';
import { triedAgent } from '../testing/tried-agent.ts';

let server: Serving;
beforeAll(async () => {
  server = await serve(triedAgent, { push: {} });
});
afterAll(() => server.close());

/** Starts a task and gives it as it was first told. */
async function begun(text: string, ...args: readonly string[]): Promise<Task> {
  const { out } = await legate(['send', '-a', server.url, '--json', '--async', ...args, text]);
  return (JSON.parse(out) as { task: Task }).task;
}

async function done(text: string, ...args: readonly string[]): Promise<Task> {
  const { out } = await legate(['send', '-a', server.url, '--json', ...args, text]);
  return (JSON.parse(out) as { task: Task }).task;
}

test(
  'TASK_GET_001, TASK_POLL_001: a task is shown with its artifacts, and with as much history as wanted',
  patient,
  async () => {
    const { id, contextId } = await done('files');
    const text = await legate(['get', server.url, id]);
    expect(text).toMatchObject({ code: 0, err: '' });
    expect(fieldsOf(text.out)).toMatchObject({ Task: id, Context: contextId });
    expect(text.out).toContain('"total": 3');
    expect(text.out).toContain('File: ../a.bin (image/png, 4 bytes)');
    const json = await legate([
      'task',
      'get',
      '-a',
      server.url,
      '--history',
      '1',
      '-o',
      'json',
      id,
    ]);
    const task = JSON.parse(json.out) as Task;
    expect(task.artifacts?.[0]?.parts).toHaveLength(4);
    expect(task.history).toHaveLength(1);
    const without = await legate(['get', server.url, '--history', '0', '--json', id]);
    expect((JSON.parse(without.out) as Task).history ?? []).toEqual([]);
  },
);

test('OUT_003: get, cancel and card give one line with --stream', patient, async () => {
  const { id } = await begun('wait');
  for (const args of [
    ['get', '-a', server.url, id],
    ['cancel', '-a', server.url, id],
    ['card', server.url],
  ]) {
    const { code, out } = await legate([...args, '--json', '--stream']);
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(out)).toBeTypeOf('object');
  }
});

test('TASK_POLL_001: get --wait returns when the task ends', patient, async () => {
  const { id } = await begun('wait');
  const waiting = start(['task', 'get', '-a', server.url, '--wait', '--json', id]);
  await expect.poll(() => waiting.err, { timeout: 60_000 }).toContain(`task ${id}`);
  await legate(['cancel', server.url, id]);
  const { code, out } = await waiting.ended;
  expect(code).toBe(0);
  expect((JSON.parse(out) as Task).status.state).toBe('TASK_STATE_CANCELED');
});

test(
  'TASK_CANCEL_001: cancel prints the state, is idempotent, and refuses tasks that have ended',
  patient,
  async () => {
    const { id, contextId } = await begun('wait');
    const first = await legate(['task', 'cancel', '-a', server.url, id]);
    expect(first.code).toBe(0);
    const place = { Task: id, Context: contextId, State: 'TASK_STATE_CANCELED' };
    expect(fieldsOf(first.out)).toMatchObject(place);
    const second = await legate(['cancel', server.url, id]);
    expect(second.code).toBe(0);
    expect(fieldsOf(second.out)).toMatchObject(place);
    const ended = await done('chunks');
    const refused = await legate(['cancel', server.url, '--json', ended.id]);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.out)).toMatchObject({
      error: { code: 'TaskNotCancelableError', a2aCode: -32002 },
    });
  },
);

test('TASK_LIST_001: tasks are listed by page, by state and by context', patient, async () => {
  const { contextId } = await done('chunks');
  await done('ask', '--context-id', contextId);
  await done('chunks', '--context-id', contextId);
  const list = async (...args: readonly string[]) => {
    const { code, out } = await legate(['task', 'list', '-a', server.url, '--json', ...args]);
    expect(code).toBe(0);
    return JSON.parse(out) as ListTasksResponse;
  };
  const page = await list('--context-id', contextId, '--page-size', '2');
  expect(page).toMatchObject({ totalSize: 3, pageSize: 2 });
  const rest = await list(
    '--context-id',
    contextId,
    '--page-size',
    '2',
    '--page-token',
    page.nextPageToken,
  );
  expect(rest.tasks).toHaveLength(1);
  const asking = await list('--context-id', contextId, '--status', 'input-required');
  expect(asking.tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_INPUT_REQUIRED']);
  const all = await list('--context-id', contextId, '--page-size', '1', '--all');
  expect(all.tasks).toHaveLength(3);
  const args = ['list', server.url, '--context-id', contextId, '--all', '--json', '--stream'];
  const lines = (await legate(args)).out.trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as Task).contextId)).toEqual(
    Array(3).fill(contextId),
  );
  const wrong = await legate(['list', server.url, '--status', 'complete']);
  expect(wrong).toMatchObject({ code: 2, out: '' });
  expect(wrong.err).toContain('did you mean "completed"?');
});

test(
  'TASK_SUBSCRIBE_001: subscribing starts with the task and ends with its end',
  patient,
  async () => {
    const { id } = await begun('wait');
    const following = start(['task', 'subscribe', '-a', server.url, '--stream', '--json', id]);
    await expect.poll(() => following.out, { timeout: 60_000 }).toContain('"task"');
    await legate(['cancel', server.url, id]);
    const { code, out } = await following.ended;
    expect(code).toBe(0);
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StreamResponse);
    expect(events[0]).toMatchObject({ task: { id } });
    expect(out).toContain('TASK_STATE_CANCELED');
  },
);

test(
  'A2A 3.1.6: subscribing to a task that has ended is refused by its name',
  patient,
  async () => {
    const { id } = await done('chunks');
    const { code, out } = await legate(['subscribe', server.url, '--json', id]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'UnsupportedOperationError' } });
  },
);

test(
  'DOWNLOAD_001: artifacts are saved below the folder, whatever names agents give them',
  patient,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'legate-download-'));
    try {
      const { id } = await done('files');
      const args = ['task', 'download', '-a', server.url, id, '-d', join(folder, 'in')];
      const { code, out, err } = await legate(args);
      expect(code).toBe(0);
      expect(out.trimEnd().split('\n')).toHaveLength(3);
      expect(err).toContain('https://example.com/b.pdf');
      expect(readdirSync(folder)).toEqual(['in']);
      expect(readdirSync(join(folder, 'in')).sort()).toEqual([
        '__a.bin',
        'result.json',
        'result.txt',
      ]);
      expect(readFileSync(join(folder, 'in/__a.bin'))).toEqual(Buffer.from([0, 1, 2, 255]));
      const again = await legate(args);
      expect(again.code).toBe(2);
      expect(again.err).toContain('--force');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('PUSH_001: webhooks are made, shown, listed and taken away', patient, async () => {
  const { id } = await begun('wait');
  const config = (verb: string, ...args: readonly string[]) =>
    legate(['task', 'push-config', verb, '-a', server.url, '--json', id, ...args]);
  const url = 'https://example.com/hook';
  const made = await config('create', '--url', url, '--id', 'mine', '--token', 'hush-hush');
  expect(made.code).toBe(0);
  expect(JSON.parse(made.out)).toMatchObject({ id: 'mine', taskId: id, url });
  expect(JSON.parse((await config('get', '--id', 'mine')).out)).toMatchObject({ id: 'mine', url });
  expect(JSON.parse((await config('list')).out)).toMatchObject({ configs: [{ id: 'mine' }] });
  expect((await config('delete', '--id', 'mine')).code).toBe(0);
  expect(JSON.parse((await config('list')).out)).toMatchObject({ configs: [] });
});

test(
  'PUSH_002: webhooks are received until the task ends, and only with the right token',
  patient,
  async () => {
    const { id } = await begun('wait');
    const args = ['task', 'push-config', 'listen', '-a', server.url, '--json', id];
    const listening = start(args);
    await expect.poll(() => listening.err, { timeout: 60_000 }).toContain('listening at ');
    const url = /listening at (\S+)/.exec(listening.err)?.[1] ?? '';
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
    await legate(['cancel', server.url, id]);
    const { code, out } = await listening.ended;
    expect(code).toBe(0);
    expect(out).toContain('TASK_STATE_CANCELED');
    for (const line of out.trimEnd().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object');
    const listed = await legate(['task', 'push-config', 'list', '-a', server.url, '--json', id]);
    expect(JSON.parse(listed.out)).toMatchObject({ configs: [] });
  },
);

test(
  'TASK_POLL_003, TASK_POLL_004, VER_003: a stream that breaks and cannot be had again is followed by polling, past an unknown state',
  patient,
  async () => {
    const place = { id: 't', contextId: 'c' };
    const states = ['TASK_STATE_UNSPECIFIED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
    let looks = 0;
    await using agent = await rawAgent((request) => {
      const { path, body, response, url } = request;
      if (path.startsWith('/.well-known')) return sendJson(response, rawCard(url));
      if (body.method === 'SendStreamingMessage') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        const task = { ...place, status: { state: 'TASK_STATE_WORKING' } };
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { task } })}\n\n`,
          () => response.destroy(),
        );
        return undefined;
      }
      if (body.method === 'GetTask') {
        const state = states[Math.min(looks, states.length - 1)];
        looks += 1;
        return result(request, { ...place, status: { state } });
      }
      const error = { code: -32601, message: 'Method not found' };
      return sendJson(response, { jsonrpc: '2.0', id: body.id, error });
    });
    const { code, out } = await legate([
      'send',
      agent.url,
      '--poll-interval',
      '100ms',
      '--json',
      'hi',
    ]);
    expect(code).toBe(0);
    expect((JSON.parse(out) as { task: Task }).task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(looks).toBe(3);
  },
);

test(
  'TASK_SUBSCRIBE_002: a broken subscription is resumed without duplicate events',
  patient,
  async () => {
    const place = { id: 't', contextId: 'c' };
    let connections = 0;
    await using agent = await rawAgent(({ path, body, response, url }) => {
      if (path.startsWith('/.well-known')) return sendJson(response, rawCard(url));
      connections += 1;
      const frame = (result: object) =>
        `data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result })}\n\n`;
      const artifact = { artifactId: 'a', parts: [{ text: 'one ' }] };
      const working = { ...place, status: { state: 'TASK_STATE_WORKING' } };
      const at = { taskId: 't', contextId: 'c' };
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (connections === 1) {
        response.write(
          frame({ task: working }) + frame({ artifactUpdate: { ...at, artifact } }),
          () => response.destroy(),
        );
        return undefined;
      }
      const rest = { artifactId: 'a', parts: [{ text: 'two' }] };
      response.end(
        frame({ task: { ...working, artifacts: [artifact] } }) +
          frame({ artifactUpdate: { ...at, artifact: rest, append: true } }) +
          frame({ statusUpdate: { ...at, status: { state: 'TASK_STATE_COMPLETED' } } }),
      );
      return undefined;
    });
    const { code, out } = await legate(['subscribe', agent.url, '--json', 't']);
    expect(code).toBe(0);
    expect((JSON.parse(out) as Task).artifacts).toMatchObject([{ parts: [{ text: 'one two' }] }]);
    expect(connections).toBe(2);
  },
);

test(
  'SEND_003, VER_003: an agent that does not stream is polled, and never hangs',
  patient,
  async () => {
    const states = ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
    await using agent = await rawAgent((request) => {
      const { path, body, response, url } = request;
      const card = rawCard(url, { capabilities: {} });
      if (path.startsWith('/.well-known')) return sendJson(response, card);
      const status = { state: states.shift() ?? 'TASK_STATE_COMPLETED' };
      const task = { id: 't', contextId: 'c', status };
      return result(request, body.method === 'GetTask' ? task : { task });
    });
    const { code, out, err } = await legate([
      'send',
      agent.url,
      '--stream',
      '--json',
      '--poll-interval',
      '100ms',
      'hi',
    ]);
    expect(code).toBe(0);
    expect(err).toContain('does not support streaming');
    expect(agent.requests.map(({ body }) => body.method)).not.toContain('SendStreamingMessage');
    const last = out.trimEnd().split('\n').at(-1) ?? '';
    expect(JSON.stringify(JSON.parse(last))).toContain('TASK_STATE_COMPLETED');
  },
);

test('a list shows the time of today, and the date of other days', () => {
  const now = new Date(2026, 10, 19, 18, 30);
  expect(shortTime(new Date(2026, 10, 19, 7, 5, 9).toISOString(), now)).toBe('07:05:09');
  expect(shortTime(new Date(2026, 10, 18, 23, 59).toISOString(), now)).toBe('2026-11-18');
  expect(shortTime('', now)).toBe('');
});
