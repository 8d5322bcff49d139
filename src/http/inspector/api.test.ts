import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { connect } from '../../client/index.ts';
import { message, SseParser } from '../../protocol/index.ts';
import { bodySigner, generateSigningKey } from '../../push/index.ts';
import { startReceiver } from '../../push/receiver.contract.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { bakery, inspectedServer, type InspectedServer } from './testing/inspected-server.ts';
import type {
  DeliveryView,
  EventsView,
  LiveNotice,
  PushConfigView,
  ReceivedCall,
  TaskListView,
  TaskView,
} from './model.ts';
import type { NetworkPicture } from './network.ts';

const callers = { subject: (subject: string) => ({ tenant: '', subject, method: 'test' }) };

async function send(server: InspectedServer, text: string, subject = ''): Promise<string> {
  const { engine } = server.serving.router;
  const outcome = await engine.send(
    { message: message(text), configuration: { returnImmediately: text === 'wait' } },
    { caller: callers.subject(subject), version: '1.0' },
  );
  if (!('task' in outcome)) throw new Error('a task was expected');
  return outcome.task.value.id;
}

const post = (body: unknown = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

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

test('what a filter says that it cannot mean is refused', async () => {
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
  expect((await server.api('tasks/%E0%A4%A/events')).status).toBe(404);
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
  expect(early.task.artifacts?.[0]?.parts.length).toBeLessThan(
    late.task.artifacts?.[0]?.parts.length ?? 0,
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

test('webhooks: registrations without secrets, dead letters, and another try', async () => {
  let isDown = true;
  await using receiver = await startReceiver((_call, response) => {
    response.writeHead(isDown ? 500 : 204).end();
  });
  const actions: object[] = [];
  const info: Logger['info'] = (fields, event) => void actions.push({ ...fields, event });
  const logger: Logger = { ...silentLogger, info };
  await using server = await inspectedServer({ push: { maxAttempts: 1 }, logger });
  const { engine } = server.serving.router;
  const url = `${receiver.url}/hook`;
  await engine.send(
    {
      message: message('hello'),
      configuration: {
        taskPushNotificationConfig: {
          id: 'mine',
          url,
          token: 'secret-token',
          authentication: { scheme: 'Bearer', credentials: 'secret-credentials' },
        },
      },
    },
    { caller: callers.subject('alice'), version: '1.0' },
  );
  await expect
    .poll(() => server.get<readonly DeliveryView[]>('push/deliveries?state=dead'))
    .not.toHaveLength(0);
  const configs = await server.get<readonly PushConfigView[]>('push/configs');
  expect(configs).toMatchObject([{ config: { id: 'mine', url }, wireVersion: '1.0' }]);
  expect(JSON.stringify(configs)).not.toContain('secret');
  const dead = await server.get<readonly DeliveryView[]>('push/deliveries?state=dead');
  expect(dead[0]).toMatchObject({ url, attempts: 1, lastError: 'answered 500' });
  expect(JSON.stringify(dead)).not.toContain('secret');

  isDown = false;
  for (const { id } of dead) {
    expect((await server.api(`push/deliveries/${id}/retry`, post())).status).toBe(200);
  }
  await expect.poll(() => server.get('push/deliveries')).toEqual([]);
  expect((await server.api(`push/deliveries/${dead[0]?.id}/retry`, post())).status).toBe(404);
  const revived = { audit: 'action', event: 'audit.push.revived', deliveryId: dead[0]?.id };
  expect(actions).toContainEqual(expect.objectContaining(revived));
});

test('the built-in receiver keeps what arrives, judges signatures and forgets secrets', async () => {
  const key = generateSigningKey();
  await using server = await inspectedServer({ push: { signer: bodySigner([key]) } });
  const { receiverKey } = await server.get<{ receiverKey: string }>('about');
  const url = `${server.url}/inspect/hook/${receiverKey}`;
  await server.serving.router.engine.send(
    { message: message('hello'), configuration: { taskPushNotificationConfig: { url } } },
    { caller: callers.subject(''), version: '1.0' },
  );
  await expect.poll(() => server.get<readonly ReceivedCall[]>('receiver')).not.toHaveLength(0);
  const calls = await server.get<readonly ReceivedCall[]>('receiver');
  expect(calls[0]).toMatchObject({ number: 1, signature: 'valid', isCut: false });
  expect(JSON.parse(calls[0]?.body ?? '')).toHaveProperty('task');

  await fetch(url, { ...post({ odd: true }), headers: { authorization: 'Bearer abc' } });
  const last = (await server.get<readonly ReceivedCall[]>('receiver')).at(-1);
  expect(last).toMatchObject({ signature: 'none', headers: { authorization: '[redacted]' } });
  await fetch(url, { ...post({}), headers: { 'x-a2a-signature': 'a..b' } });
  expect((await server.get<readonly ReceivedCall[]>('receiver')).at(-1)?.signature).toBe('invalid');

  expect((await fetch(`${server.url}/inspect/hook/guess`, post())).status).not.toBe(204);
  expect((await fetch(url)).status).toBe(405);
  await server.api('receiver', { method: 'DELETE' });
  expect(await server.get('receiver')).toEqual([]);
});

test('the receiver keeps the latest calls only, and of each no more than it says', async () => {
  await using server = await inspectedServer({}, { receiverLimit: 3 });
  const { receiverKey } = await server.get<{ receiverKey: string }>('about');
  const url = `${server.url}/inspect/hook/${receiverKey}`;
  for (let index = 0; index < 5; index += 1) await fetch(url, post({ index }));
  const calls = await server.get<readonly ReceivedCall[]>('receiver');
  expect(calls.map(({ number }) => number)).toEqual([3, 4, 5]);
  await fetch(url, post({ long: 'x'.repeat(300_000) }));
  const cut = (await server.get<readonly ReceivedCall[]>('receiver')).at(-1);
  expect(cut?.isCut).toBe(true);
  expect(cut?.body.length).toBe(256 * 1024);
});

test('changes are told as they happen, by whomever they are made', async () => {
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
  server.door.close();
  await reading;
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
      const client = await connect(card);
      const words: string[] = [];
      for await (const { response } of client.sendStreamingMessage('stream 3')) {
        if ('artifactUpdate' in response) {
          words.push(response.artifactUpdate.artifact.parts[0]?.text ?? '');
        }
      }
      expect(words.join('')).toBe('word 1 word 2 word 3 ');
    }
  }
  expect((await fetch(`${server.url}/inspect/a2a/nobody`, post())).status).toBe(404);
});

test('the picture of the network has callers, agents, webhooks and what the provider knows', async () => {
  await using server = await inspectedServer(
    { push: { maxAttempts: 1 } },
    {
      network: {
        levels: [{ name: 'observe', description: '' }],
        peers: async () => [
          {
            id: 'p1',
            name: 'mill',
            address: 'https://mill.example',
            transport: 'http',
            reach: 'reachable',
            trust: 'observe',
          },
        ],
        calls: async () => [
          { from: bakery.name, to: 'p1', count: 7, failed: 1 },
          { from: 'stranger', to: 'p1', count: 1, failed: 0 },
        ],
      },
    },
  );
  await send(server, 'hello', 'alice');
  await send(server, 'fail', 'alice');
  const picture = await server.get<NetworkPicture>('network');
  expect(picture.nodes.map(({ kind, name }) => `${kind} ${name}`).toSorted()).toEqual([
    'agent bakery',
    'caller alice',
    'peer mill',
  ]);
  expect(picture.calls).toContainEqual({ from: 'bakery', to: 'p1', count: 7, failed: 1 });
  expect(picture.calls).toContainEqual(
    expect.objectContaining({ to: 'bakery', count: 2, failed: 1 }),
  );
  expect(picture.calls).toHaveLength(2);
});

test('trust is granted and approvals decided through the provider, within its levels', async () => {
  const done: unknown[] = [];
  await using server = await inspectedServer(
    {},
    {
      network: {
        levels: [
          { name: 'observe', description: 'may ask' },
          { name: 'act', description: 'may do' },
        ],
        peers: async () => [],
        setTrust: async (...given) => void done.push(given),
        approvals: async () => [{ id: 'a1', peerId: 'p1', title: 'bake', since: 1 }],
        decide: async (...given) => void done.push(given),
      },
    },
  );
  expect(await server.get('peers')).toMatchObject({ canSetTrust: true, levels: [{}, {}] });
  expect(await server.get('approvals')).toHaveLength(1);
  const grant = { level: 'act', approvedSkills: ['bake'] };
  expect((await server.api('peers/p1/trust', post(grant))).status).toBe(200);
  expect((await server.api('approvals/a1', post({ decision: 'approve' }))).status).toBe(200);
  expect(done).toEqual([
    ['p1', grant],
    ['a1', 'approve'],
  ]);
  for (const [path, body] of [
    ['peers/p1/trust', { level: 'king' }],
    ['peers/p1/trust', { level: 'act', approvedSkills: 'all' }],
    ['approvals/a1', { decision: 'maybe' }],
    ['approvals/a1', []],
  ] as const) {
    expect((await server.api(path, post(body))).status).toBe(400);
  }
  expect(done).toHaveLength(2);
});

test('without a provider there are no peers, and nothing to grant', async () => {
  await using server = await inspectedServer();
  expect(await server.get('peers')).toEqual({
    levels: [],
    canSetTrust: false,
    peers: [],
    subAgents: [],
  });
  expect(await server.get('approvals')).toEqual([]);
  expect((await server.api('peers/p/trust', post({ level: 'act' }))).status).toBe(400);
});

test('signatures of cards are checked with our own keys, or with those that are given', async () => {
  const [own, other] = [generateSigningKey(), generateSigningKey()];
  await using server = await inspectedServer({
    cardKeys: [own],
    push: { signer: bodySigner([own]) },
  });
  const card = server.serving.router.cards.current;
  const check = async (body: object) => (await server.api('cards/check', post(body))).json();
  expect(await check({ card })).toMatchObject({ verified: { kid: own.kid } });
  const { signatures: _, ...unsigned } = card;
  expect(await check({ card: unsigned })).toEqual({
    signatures: 0,
    problem: 'the card is not signed',
  });
  expect(await check({ card: { ...card, name: 'forged' } })).toMatchObject({
    problem: 'no signature of the card is by a trusted key',
  });
  expect(await check({ card, jwks: bodySigner([other]).jwks() })).not.toHaveProperty('verified');
  expect(await check({ card, jwks: bodySigner([own]).jwks() })).toHaveProperty('verified');
  expect(await check({})).toMatchObject({ problem: expect.any(String) as string });
});

test('other agents are called through the server only where that was switched on', async () => {
  await using server = await inspectedServer();
  const response = await server.api('proxy', {
    method: 'POST',
    headers: { 'x-inspect-url': 'https://example.com', 'x-inspect-method': 'GET' },
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'UNSUPPORTED_OPERATION' } });
});

test('the proxy hands over status, headers and the stream of the other agent', async () => {
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
    const streamed = await call(`${base}/`, 'POST', { 'X-Custom': 'yes', Host: 'evil.example' });
    expect(streamed.headers.get('x-inspect-status')).toBe('200');
    const pairs = decodeURIComponent(streamed.headers.get('x-inspect-headers') ?? '');
    expect(JSON.parse(pairs)).toContainEqual(['x-seen', 'yes']);
    expect(await streamed.text()).toBe('data: one\n\ndata: two\n\n');
    // The browser must not take the other agent's challenge for ours.
    const refused = await call(`${base}/refuse`, 'GET');
    expect([refused.status, refused.headers.has('www-authenticate')]).toEqual([200, false]);
    expect(refused.headers.get('x-inspect-status')).toBe('401');
    expect((await call(`${base}/`, 'TRACE')).status).toBe(400);
    expect((await call('http://10.0.0.1/', 'GET')).status).toBe(503);
    expect((await call('http://169.254.169.254/latest/meta-data', 'GET')).status).toBe(503);
    expect((await call('file:///etc/passwd', 'GET')).status).toBe(503);
  } finally {
    other.close();
  }
});
