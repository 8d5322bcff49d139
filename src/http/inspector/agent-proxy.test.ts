import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import {
  type BindingCall,
  type BindingChannel,
  type ClientBinding,
  requestPreparer,
} from '../../client/index.ts';
import { type Resolver, publicPolicy } from '../../push/index.ts';
import { NetworkExposure } from '../../service/index.ts';
import type { ServeOptions } from '../serve.ts';
import { AgentProxy } from './agent-proxy.ts';
import type { InspectedTarget, InspectorOptions } from './options.ts';
import { type InspectedServer, inspectedServer } from './testing/inspected-server.ts';
import { connections, post } from './testing/requests.ts';

/** An agent on this machine, and how often it was called. */
async function otherAgent() {
  let calls = 0;
  const other = createServer((request, response) => {
    calls += 1;
    if (request.url === '/away') {
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end();
      return;
    }
    response.end('an answer');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get calls() {
      return calls;
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => other.close(resolve));
    },
  };
}

const inspected = (options: ServeOptions = {}, inspector: InspectorOptions = {}) =>
  inspectedServer(options, { proxy: true, ...inspector });

const name = (server: InspectedServer, url: string, headers: Record<string, string> = {}) =>
  server.api('agents', { ...post({ url }), headers });

function call(server: InspectedServer, url: string, headers: Record<string, string> = {}) {
  const wanted = { 'x-inspect-url': url, 'x-inspect-method': 'GET' };
  return server.api('proxy', { method: 'POST', headers: { ...wanted, ...headers } });
}

/** Listens for other machines too, so callers prove who they are. */
const reachable = {
  host: '0.0.0.0',
  auth: new Authenticator({
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 'right', subject: 'carl' }] })],
  }),
};

test('only agents that the operator connected to are called', async () => {
  await using other = await otherAgent();
  await using server = await inspected();
  const refused = await call(server, `${other.url}/`);
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain(`${other.url} is not an agent that you connected to`);
  expect(other.calls).toBe(0);
  expect((await name(server, `${other.url}/.well-known/agent-card.json`)).status).toBe(200);
  const answer = await call(server, `${other.url}/any/path`);
  expect(await answer.text()).toBe('an answer');
  // A card may call this machine by another of its names, but no other port or host.
  expect((await call(server, `http://localhost:${other.port}/`)).status).toBe(200);
  expect((await call(server, `https://localhost:${other.port}/`)).status).toBe(400);
  expect((await call(server, `http://127.0.0.1:${server.serving.port}/`)).status).toBe(400);
  expect((await call(server, 'http://10.0.0.1/')).status).toBe(400);
});

test('the latest hundred agents are allowed', async () => {
  await using server = await inspected();
  for (let index = 0; index <= 100; index += 1) await name(server, `https://a${index}.invalid/`);
  const first = await call(server, 'https://a0.invalid/');
  expect(await first.text()).toContain('is not an agent that you connected to');
  // A name that leads nowhere: it was tried.
  expect((await call(server, 'https://a100.invalid/')).status).toBe(503);
});

test.each([
  'file:///etc/passwd',
  'http://169.254.169.254/latest/meta-data',
  'http://[fe80::1]/',
  'http://user:secret@127.0.0.1/',
  'http://0/',
  'http://0.0.0.0/',
  'http://127.1/',
  'http://2130706433/',
  'not an address',
  '',
])('%j is refused, also on this machine', async (url) => {
  await using server = await inspected();
  expect((await name(server, url)).status).toBe(400);
  expect((await call(server, url)).status).toBe(400);
});

const inside = [
  'http://127.0.0.1:8080/',
  'https://127.0.0.1:8080/',
  'https://localhost:8080/',
  'https://x.localhost/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://10.0.0.1/',
  'https://192.168.1.1/',
  'https://[fd00::1]/',
  'https://intranet/',
  'https://db.internal/',
  'http://example.com/',
];
test.each([
  ['listens for other machines', reachable],
  ['has a public URL', { url: 'https://agents.example.com' }],
])('a server that %s calls nothing of its own network', async (_, options) => {
  await using server = await inspected(options);
  for (const url of inside) {
    expect([url, (await name(server, url)).status]).toEqual([url, 400]);
    expect([url, (await call(server, url)).status]).toEqual([url, 400]);
  }
  expect((await name(server, 'https://example.com/')).status).toBe(200);
});

test('nor does a local server for a request that a proxy forwarded', async () => {
  await using other = await otherAgent();
  await using server = await inspected();
  await name(server, other.url);
  for (const header of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip']) {
    const forwarded = { [header]: '127.0.0.1' };
    expect((await name(server, other.url, forwarded)).status).toBe(400);
    expect((await call(server, other.url, forwarded)).status).toBe(400);
  }
  expect(other.calls).toBe(0);
});

test('a name that resolves to a private address is refused when connecting', async () => {
  await using other = await otherAgent();
  let answers = ['203.0.113.9'];
  const resolver: Resolver = async () => answers;
  const proxy = new AgentProxy({
    exposure: new NetworkExposure(false),
    policy: publicPolicy,
    resolver,
  });
  const request = new IncomingMessage(new Socket());
  const url = `http://agent.example.com:${other.port}/`;
  proxy.allow(url, request);
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.7', '0.0.0.0']) {
    answers = [address];
    await expect(proxy.fetch(url, {}, request)).rejects.toThrow(/loopback|private|never allowed/);
  }
  expect(other.calls).toBe(0);
  proxy.close();
});

test('redirects are shown, never followed', async () => {
  await using other = await otherAgent();
  await using server = await inspected();
  await name(server, other.url);
  const answer = await call(server, `${other.url}/away`);
  expect(answer.headers.get('x-inspect-status')).toBe('302');
  expect(other.calls).toBe(1);
});

test('the inspected agent is called with the credentials of its operator, and no other is', async () => {
  await using other = await otherAgent();
  await using stranger = await otherAgent();
  const seen: string[] = [];
  const target = {
    url: other.url,
    fetch: (async (input, init) => {
      seen.push(new Headers(init?.headers).get('authorization') ?? '');
      return fetch(input, init);
    }) as typeof fetch,
    prepare: requestPreparer({ auth: { bearer: 'of-the-terminal' } }),
  };
  await using server = await inspected({}, { target });
  const answer = await call(server, `${other.url}/`);
  expect(await answer.text()).toBe('an answer');
  expect(seen).toEqual(['Bearer of-the-terminal']);
  // Redirects are shown, not followed.
  const away = await call(server, `${other.url}/away`);
  expect(away.headers.get('x-inspect-status')).toBe('302');
  expect((await call(server, `${stranger.url}/`)).status).toBe(400);
  expect(stranger.calls).toBe(0);
});

test('gRPC is for the inspected agent, and for operators on this machine', async () => {
  const bindings = async () => [grpcStub];
  const body = (url: string) => ({
    url,
    version: '1.0',
    operation: 'getTask',
    request: { id: 't' },
    headers: {},
  });
  const grpc = (server: InspectedServer, url: string, headers: Record<string, string> = {}) =>
    server.api('grpc', { ...post(body(url)), headers });
  await using local = await inspected({}, { bindings });
  expect(await (await grpc(local, 'localhost:50051')).text()).toContain('is not an agent that you');
  await name(local, 'http://localhost:8080');
  expect(await (await grpc(local, 'localhost:50051')).text()).toContain('{"id":"t"}');
  await using open = await inspected(reachable, { bindings });
  await name(open, 'https://agent.example');
  expect(await (await grpc(open, 'agent.example:443')).text()).toContain('only a server that this');
  await using without = await inspected();
  expect((await grpc(without, 'localhost:50051')).status).toBe(400);
});

describe('a gRPC call for a page', () => {
  const agent = 'http://localhost:50051';
  const request = (operation: string) =>
    post({ url: 'localhost:50051', version: '1.0', operation, request: {}, headers: {} });

  test('that disconnects before the call is cancelled', async () => {
    const preparing = Promise.withResolvers<void>();
    const called = Promise.withResolvers<AbortSignal | undefined>();
    let isPreparing = false;
    const channel = {
      ...stubChannel,
      call: (_operation: unknown, json: unknown, { signal }: BindingCall) => {
        called.resolve(signal);
        return Promise.resolve(json as never);
      },
    };
    const target: InspectedTarget = {
      url: agent,
      fetch,
      prepare: async (url, headers) => {
        isPreparing = true;
        await preparing.promise;
        return { url, headers };
      },
    };
    const bindings = async () => [{ ...grpcStub, open: () => channel }];
    await using server = await inspected({}, { bindings, target });
    const closing = new AbortController();
    const { signal } = closing;
    const page = server.api('grpc', { ...request('getTask'), signal }).catch(() => undefined);
    await expect.poll(() => isPreparing).toBe(true);
    closing.abort();
    await page;
    await expect.poll(() => connections(server)).toBe(0);
    preparing.resolve();
    expect((await called.promise)?.aborted).toBe(true);
  });

  test('reads no more events than the page does', async () => {
    const size = 64 * 1024;
    const responses: ServerResponse[] = [];
    let buffered = 0;
    const channel = {
      ...stubChannel,
      stream: async () =>
        (async function* () {
          for (let count = 0; count < 400; count += 1) {
            buffered = Math.max(buffered, responses.at(-1)?.writableLength ?? 0);
            yield 'x'.repeat(size) as never;
          }
        })(),
    };
    const bindings = async () => [{ ...grpcStub, open: () => channel }];
    await using server = await inspected({}, { bindings });
    await name(server, agent);
    server.serving.server.prependListener('request', (_, response) => responses.push(response));
    const answer = await server.api('grpc', request('subscribeToTask'));
    expect((await answer.text()).length).toBeGreaterThan(400 * size);
    expect(buffered).toBeLessThan(4 * size);
  });
});

/** Answers with the request. */
const stubChannel: BindingChannel = {
  call: async (_operation, json) => json,
  stream: async function* stream() {} as never,
  close: () => {},
};

const grpcStub: ClientBinding = {
  binding: 'GRPC',
  locate: (address) =>
    new URL(`${address.startsWith('localhost') ? 'http' : 'https'}://${address}`),
  open: () => stubChannel,
};
