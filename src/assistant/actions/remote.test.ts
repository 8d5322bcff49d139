import * as fc from 'fast-check';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { domain, TestClock } from '../testing/domain.ts';
import { readActionResult, RemoteActions, type RemoteActionsOptions } from './remote.ts';
import { type ActionCall, ActionRejected } from './runner.ts';

const open: Server[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

type Handler = (body: JsonObject, response: ServerResponse) => void;

/** An action server on a free port; answers with its address. */
async function serve(handler: Handler): Promise<string> {
  const server = createServer((request: IncomingMessage, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => handler(JSON.parse(text) as JsonObject, response));
  });
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`;
}

const bank = domain([], {
  actions: new Map([['action_full', { name: 'action_full', sendDomain: true }]]),
  raw: { slots: { amount: { type: 'float' } } },
});

function call(
  url: string,
  options: Partial<RemoteActionsOptions> = {},
  { name = 'action_x', signal = new AbortController().signal }: Partial<ActionCall> = {},
) {
  return new RemoteActions({ url, ...options }).run({
    name,
    senderId: 'ada',
    slots: {},
    tracker: () => Promise.resolve({ sender_id: 'ada', slots: { amount: 5 } }),
    domain: bank,
    context: {},
    channel: 'rest',
    stream: () => Promise.resolve(),
    newId: () => 'id',
    signal,
    clock: new TestClock(),
    logger: silentLogger,
  });
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

test('the request carries action, sender, tracker and domain; the answer messages and events', async () => {
  const seen: JsonObject[] = [];
  const url = await serve((body, response) => {
    seen.push(body);
    answer(response, 200, {
      events: [{ event: 'slot', name: 'rate', value: 2, timestamp: null }],
      responses: [
        { text: 'Hello', buttons: [{ title: 'Yes', payload: '/yes' }], custom: {}, image: null },
        { template: 'utter_rate', response: 'utter_rate', rate: 2, elements: [] },
        { text: null, buttons: [] },
      ],
    });
  });
  expect(await call(url)).toEqual({
    events: [{ event: 'slot', name: 'rate', value: 2 }],
    messages: [
      { text: 'Hello', buttons: [{ title: 'Yes', payload: '/yes' }] },
      { response: 'utter_rate', values: { rate: 2 } },
    ],
  });
  expect(seen).toEqual([
    {
      next_action: 'action_x',
      sender_id: 'ada',
      tracker: { sender_id: 'ada', slots: { amount: 5 } },
      domain: bank.raw,
      domain_digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      version: '3.1',
    },
  ]);
});

test('with digests the domain is sent to a server that answers 449, and only then', async () => {
  const domains: boolean[] = [];
  let known = false;
  const url = await serve((body, response) => {
    domains.push('domain' in body);
    if ('domain' in body) known = true;
    answer(response, known ? 200 : 449, { events: [], responses: [] });
  });
  await call(url, { domain: 'digest' });
  await call(url, { domain: 'digest' });
  expect(domains).toEqual([false, true, false]);
});

test('selectively, only actions that ask for it get the domain', async () => {
  const domains: boolean[] = [];
  const url = await serve((body, response) => {
    domains.push('domain' in body);
    answer(response, 200, {});
  });
  await call(url, { domain: 'selective' });
  await call(url, { domain: 'selective' }, { name: 'action_full' });
  expect(domains).toEqual([false, true]);
});

test('400 is a rejection, everything else but 200 a failure that names server and action', async () => {
  let status = 400;
  const url = await serve((_, response) =>
    answer(response, status, { error: 'no', action_name: 'x' }),
  );
  await expect(call(url)).rejects.toBeInstanceOf(ActionRejected);
  status = 404;
  await expect(call(url)).rejects.toThrow(`action server ${url} has no action action_x`);
  status = 500;
  await expect(call(url)).rejects.toThrow('answered 500 for action_x');
  status = 449;
  await expect(call(url)).rejects.toThrow('answered 449');
});

test('what may be secret in an address is in no error', async () => {
  const url = await serve((_, response) => answer(response, 500, {}));
  const failure = await call(`${url}?token=hush`).catch((error: unknown) => error as Error);
  expect((failure as Error).message).toContain(url);
  expect((failure as Error).message).not.toContain('hush');
});

test('a redirect is not followed', async () => {
  let requests = 0;
  const url = await serve((_, response) => {
    requests += 1;
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  await expect(call(url)).rejects.toThrow('did not answer');
  expect(requests).toBe(1);
});

test('only a connection that does not come about is tried again', async () => {
  const url = await serve((_, response) => response.destroy());
  let posts = 0;
  const counting: typeof fetch = (...request) => {
    posts += 1;
    return fetch(...request);
  };
  await expect(call(url, { fetch: counting, retryDelayMs: 0 })).rejects.toThrow('did not answer');
  expect(posts).toBe(1);
  posts = 0;
  const nobody = 'http://127.0.0.1:1/webhook';
  const refused: typeof fetch = () => {
    posts += 1;
    return Promise.reject(
      new TypeError('fetch failed', {
        cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
      }),
    );
  };
  await expect(call(nobody, { fetch: refused, retryDelayMs: 0 })).rejects.toThrow('did not answer');
  expect(posts).toBe(3);
});

test('a server that hangs is abandoned after the timeout', async () => {
  const url = await serve(() => {});
  await expect(call(url, { timeoutMs: 20 })).rejects.toThrow('did not answer');
});

test('an abort of the turn ends the request with its reason', async () => {
  const abort = new AbortController();
  const reason = new Error('the turn was stopped');
  const url = await serve(() => abort.abort(reason));
  await expect(call(url, {}, { signal: abort.signal })).rejects.toBe(reason);
});

test('an answer that never ends is cut off', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200);
    const write = () => {
      while (response.writable && response.write('x'.repeat(64 * 1024)));
      response.once('drain', write);
    };
    write();
  });
  await expect(call(url, { maxResponseBytes: 10_000 })).rejects.toThrow('more than 10000 bytes');
});

test.each([
  ['no JSON', '<html>'],
  ['no object', '[1]'],
  ['events that are not list', '{"events": 5}'],
  ['events that are not objects', '{"events": [5]}'],
  ['an event without a name', '{"events": [{"name": "x"}]}'],
  [
    'too many events',
    JSON.stringify({ events: Array.from({ length: 1001 }, () => ({ event: 'x' })) }),
  ],
])('an answer with %s is a failure', (_, body) => {
  expect(() => readActionResult(body, 'server')).toThrow(/^server answered/);
});

test('whatever JSON a server answers is read or refused, never anything else', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (events, responses) => {
      try {
        const result = readActionResult(JSON.stringify({ events, responses }), 'server');
        expect(result.events.every((event) => typeof event.event === 'string')).toBe(true);
      } catch (error) {
        expect(String(error)).toMatch(/^Error: server answered/);
      }
    }),
  );
});
