import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { intercepted } from '../../../test/support/intercepted-store.ts';
import { connect } from '../../client/index.ts';
import { SseParser } from '../../protocol/index.ts';
import { openMemory } from '../../store/index.ts';
import type { EventsView, LiveNotice, TaskListView, TaskView } from './model.ts';
import { inspectedServer, inspectorToken } from './testing/inspected-server.ts';
import { connections, post, send } from './testing/requests.ts';

test('tasks of all callers are listed, filtered and paged', async () => {
  await using server = await inspectedServer();
  await send(server, 'hello', 'alice');
  await send(server, 'fail', 'bob');
  await send(server, 'form');
  const all = await server.get<TaskListView>('tasks');
  expect(all.total).toBe(3);
  expect(all.tasks.map(({ owner }) => owner.subject).toSorted()).toEqual(['', 'alice', 'bob']);
  expect(all.tasks.find(({ owner }) => owner.subject === 'alice')).toMatchObject({
    request: 'hello',
    state: 'TASK_STATE_COMPLETED',
    owner: { agent: 'bakery', tenant: '' },
  });
  const failed = await server.get<TaskListView>('tasks?state=TASK_STATE_FAILED');
  expect(failed.tasks.map(({ request }) => request)).toEqual(['fail']);
  const [bob] = failed.tasks;
  const owned = await server.get<TaskListView>(
    `tasks?owner=${encodeURIComponent(bob?.owner.key ?? '')}`,
  );
  expect(owned.total).toBe(1);
  const first = await server.get<TaskListView>('tasks?limit=2');
  const rest = await server.get<TaskListView>(
    `tasks?limit=2&after=${encodeURIComponent(first.next ?? '')}`,
  );
  expect([...first.tasks, ...rest.tasks].map(({ id }) => id)).toEqual(
    all.tasks.map(({ id }) => id),
  );
  expect(rest.next).toBeUndefined();
});

test('invalid filters and unknown paths are refused', async () => {
  await using server = await inspectedServer();
  for (const query of ['limit=0', 'limit=x', 'state=DONE', 'after=1', 'since=-1']) {
    const response = await server.api(`tasks?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'INVALID_PARAMS' } });
  }
  expect((await server.api('tasks/none')).status).toBe(404);
  expect((await server.api('tasks/none/events')).status).toBe(404);
  expect((await server.api('nothing')).status).toBe(404);
  const wrong = await server.api('tasks', { method: 'DELETE' });
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET']);
  expect((await server.api('tasks/%E0%A4%A/events')).status).toBe(400);
});

test('the log of a task is read in pages, and the task as it was after any event', async () => {
  await using server = await inspectedServer();
  const id = await send(server, 'stream 30');
  const whole = await server.get<EventsView>(`tasks/${id}/events`);
  expect(whole.events).toHaveLength(whole.version);
  expect(whole.events[0]?.body).toHaveProperty('task');
  const page = await server.get<EventsView>(`tasks/${id}/events?after=5&limit=3`);
  expect(page.events.map(({ sequence }) => sequence)).toEqual([6, 7, 8]);
  const early = await server.get<TaskView>(`tasks/${id}?at=4`);
  const late = await server.get<TaskView>(`tasks/${id}`);
  expect(early.task.artifacts?.[0]?.parts[0]?.text?.length).toBeLessThan(
    late.task.artifacts?.[0]?.parts[0]?.text?.length ?? 0,
  );
  expect(late.summary.state).toBe('TASK_STATE_COMPLETED');
});

test('a running task of another caller can be followed and cancelled', async () => {
  await using server = await inspectedServer();
  const id = await send(server, 'wait', 'alice');
  const stream = await server.api(`tasks/${id}/stream`);
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  const reader = stream.body?.getReader();
  const parser = new SseParser();
  const states: string[] = [];
  const cancelled = server.api(`tasks/${id}/cancel`, post());
  for (;;) {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) break;
    for (const { data } of parser.push(chunk.value)) {
      const event = JSON.parse(data) as {
        task?: { status: { state: string } };
        statusUpdate?: { status: { state: string } };
      };
      states.push((event.task ?? event.statusUpdate)?.status.state ?? '');
    }
  }
  expect(states.at(-1)).toBe('TASK_STATE_CANCELED');
  expect((await cancelled).status).toBe(200);
  const over = await send(server, 'hello', 'alice');
  const refused = await server.api(`tasks/${over}/cancel`, post());
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: 'TASK_NOT_CANCELABLE' } });
});

test('changes of all callers and replicas are published as they happen', async () => {
  await using server = await inspectedServer();
  const response = await server.api('live');
  const reader = response.body?.getReader();
  const parser = new SseParser();
  const notices: LiveNotice[] = [];
  const reading = (async () => {
    for (;;) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return;
      for (const { data } of parser.push(chunk.value)) notices.push(JSON.parse(data) as LiveNotice);
    }
  })();
  // The first look only learns what there is; what comes after it is news.
  await expect
    .poll(
      async () => {
        await send(server, 'hello', 'alice');
        return notices.some(({ tasks = [] }) => tasks.length > 0);
      },
      { timeout: 10_000 },
    )
    .toBe(true);
  const { receiverKey } = await server.get<{ receiverKey: string }>('about');
  await fetch(`${server.url}/inspect/hook/${receiverKey}`, post());
  await expect.poll(() => notices.some(({ receiver }) => receiver === true)).toBe(true);
  await server.serving.close();
  await reading;
});

test('pages that disconnect before they are connected are not counted', async () => {
  const reads = Promise.withResolvers<void>();
  let waiting = 0;
  const store = intercepted(openMemory(), {
    loadContext: async (go) => {
      waiting += 1;
      await reads.promise;
      return go();
    },
  });
  await using server = await inspectedServer({ store });
  const closing = new AbortController();
  const pages = Array.from({ length: 50 }, () =>
    server.api('live?context=c', { signal: closing.signal }).catch(() => undefined),
  );
  await expect.poll(() => waiting).toBe(50);
  closing.abort();
  await Promise.all(pages);
  await expect.poll(() => connections(server)).toBe(0);
  // More pages than allowed, which all read the conversation at the same time.
  const more = Array.from({ length: 52 }, () => server.api('live?context=c'));
  await expect.poll(() => waiting).toBe(102);
  reads.resolve();
  const statuses = (await Promise.all(more)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  expect(statuses.filter((status) => status === 200)).toHaveLength(50);
});

test('the agent answers behind the inspector in both bindings and both versions', async () => {
  await using server = await inspectedServer();
  const url = `${server.url}/inspect/a2a/bakery`;
  for (const protocolVersion of ['1.0', '0.3'] as const) {
    for (const protocolBinding of ['JSONRPC', 'HTTP+JSON'] as const) {
      const card = {
        ...server.serving.router.cards.current,
        supportedInterfaces: [{ url, protocolBinding, protocolVersion }],
      };
      const client = await connect(card, { auth: { bearer: inspectorToken } });
      const words: string[] = [];
      for await (const { response } of client.sendStreamingMessage('stream 3')) {
        if ('artifactUpdate' in response) {
          words.push(response.artifactUpdate.artifact.parts[0]?.text ?? '');
        }
      }
      expect(words.join('')).toBe('word 1 word 2 word 3 ');
    }
  }
  const operator = { ...post(), headers: { authorization: `Bearer ${inspectorToken}` } };
  expect((await fetch(`${server.url}/inspect/a2a/nobody`, operator)).status).toBe(404);
});

test('other agents are called through the server only if the proxy is enabled', async () => {
  await using server = await inspectedServer();
  const response = await server.api('proxy', {
    method: 'POST',
    headers: { 'x-inspect-url': 'https://example.com', 'x-inspect-method': 'GET' },
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'UNSUPPORTED_OPERATION' } });
});

test('the proxy forwards status, headers and the stream of the other agent', async () => {
  const other = createServer((request, response) => {
    if (request.url === '/refuse') {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"', 'x-seen': 'no' });
      response.end('no');
      return;
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'x-seen': String(request.headers['x-custom']),
    });
    response.write('data: one\n\n');
    setImmediate(() => response.end('data: two\n\n'));
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  await using server = await inspectedServer({}, { proxy: true });
  const call = (url: string, method = 'POST', headers = {}) =>
    server.api('proxy', {
      method: 'POST',
      headers: {
        'x-inspect-url': url,
        'x-inspect-method': method,
        'x-inspect-headers': encodeURIComponent(JSON.stringify(headers)),
      },
      body: '{}',
    });
  try {
    expect((await server.api('agents', post({ url: base }))).status).toBe(200);
    const streamed = await call(`${base}/`, 'POST', { 'X-Custom': 'yes', Host: 'evil.example' });
    expect(streamed.headers.get('x-inspect-status')).toBe('200');
    const pairs = decodeURIComponent(streamed.headers.get('x-inspect-headers') ?? '');
    expect(JSON.parse(pairs)).toContainEqual(['x-seen', 'yes']);
    expect(await streamed.text()).toBe('data: one\n\ndata: two\n\n');
    // The browser must not take the other agent's challenge for ours.
    const refused = await call(`${base}/refuse`, 'GET');
    expect([refused.status, refused.headers.has('www-authenticate')]).toEqual([200, false]);
    expect(refused.headers.get('x-inspect-status')).toBe('401');
    const unknown = await call(`${base}/`, 'TRACE');
    expect(unknown.status).toBe(400);
    expect(await unknown.text()).toMatch(/GET, POST, DELETE, but is .*TRACE/);
  } finally {
    other.close();
  }
});
