import type { IncomingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { type Auth, connect } from './index.ts';
import { agentCard, task } from './testing/fixtures.ts';
import { connectTo, scriptedAgent, speeches } from './testing/scripted-agent.ts';
import { webServer } from './testing/web-server.ts';

const [speech] = speeches;
if (speech === undefined) throw new Error('there is no way to speak');

async function requestWith(auth: Auth): Promise<{ headers: IncomingHttpHeaders; path: string }> {
  if (speech === undefined) throw new Error('there is no way to speak');
  const agent = await scriptedAgent(speech, { getTask: () => task('TASK_STATE_WORKING') });
  const { client } = await connectTo(agent, { auth });
  await client.getTask('task-1');
  const [request] = agent.of('getTask');
  if (request === undefined) throw new Error('nothing was asked');
  return request;
}

test('a bearer token', async () => {
  expect((await requestWith({ bearer: 't0ken' })).headers.authorization).toBe('Bearer t0ken');
});

test('an API key in a header, in the query, in a cookie', async () => {
  const key = { name: 'X-Key', value: 'k3y' };
  expect((await requestWith({ apiKey: key })).headers['x-key']).toBe('k3y');
  const query = await requestWith({ apiKey: { ...key, location: 'query' } });
  expect(query.path).toBe('/?X-Key=k3y');
  const cookie = await requestWith({ apiKey: { ...key, location: 'cookie' } });
  expect(cookie.headers.cookie).toBe('X-Key=k3y');
});

test('a header provider is asked again after a 401, and not a third time', async () => {
  const asked: unknown[] = [];
  const agent = await scriptedAgent(speech, {
    getTask: (_, { response, headers }) => {
      if (headers.authorization === 'Bearer fresh') return task('TASK_STATE_WORKING');
      response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
      return undefined;
    },
  });
  let answers = ['Bearer stale', 'Bearer fresh'];
  const { client } = await connectTo(agent, {
    auth: {
      headers: async (request) => {
        if (request.url.endsWith('agent-card.json')) return {};
        asked.push(request);
        return { Authorization: answers.shift() ?? 'Bearer stale' };
      },
    },
  });
  expect(await client.getTask('task-1')).toEqual(task('TASK_STATE_WORKING'));
  expect(asked).toEqual([
    { url: `${agent.url}/`, isRejected: false },
    { url: `${agent.url}/`, isRejected: true },
  ]);
  answers = [];
  await expect(client.getTask('task-1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(asked).toHaveLength(4);
});

test('fixed credentials that are refused are not tried again', async () => {
  const agent = await scriptedAgent(speech, {
    getTask: (_, { response }) => {
      response.writeHead(401).end();
      return undefined;
    },
  });
  const { client } = await connectTo(agent, { auth: { bearer: 't0ken' } });
  await expect(client.getTask('task-1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(agent.of('getTask')).toHaveLength(1);
});

test('the first request for a card carries the credentials: a protected agent has nothing to refuse', async () => {
  const seen: (string | undefined)[] = [];
  const origin = await webServer((request, response) => {
    seen.push(request.headers.authorization);
    if (request.headers.authorization === undefined) response.writeHead(401).end();
    else response.end(JSON.stringify(agentCard({ url: 'https://agent.example' })));
  });
  await connect(origin, { auth: { bearer: 't0ken' } });
  expect(seen).toEqual(['Bearer t0ken']);
  await expect(connect(origin)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('a public card is read without credentials where they cannot be sent', async () => {
  const sent: (string | null)[] = [];
  const card = agentCard({ url: 'https://agent.example/rpc' });
  let status = 200;
  const options = {
    auth: { bearer: 't0ken' },
    retry: false as const,
    fetch: async (_: unknown, init?: RequestInit) => {
      sent.push(new Headers(init?.headers).get('authorization'));
      return Response.json(card, { status });
    },
  };
  await connect('http://agent.example', options);
  status = 401;
  await expect(connect('http://agent.example', options)).rejects.toThrow(
    'credentials are not sent to http://agent.example over an unencrypted connection',
  );
  expect(sent).toEqual([null, null]);
});

test.each<[string, Auth]>([
  ['a bearer token', { bearer: 't0ken' }],
  ['an API key in the query', { apiKey: { name: 'k', value: 't0ken', location: 'query' } }],
  ['what a provider gives', { headers: () => ({ 'X-Anything': 't0ken' }) }],
])('%s is never sent over plain http to another machine', async (_, auth) => {
  const fetched: unknown[] = [];
  const client = await connect(agentCard({ url: 'http://agent.example/rpc' }), {
    auth,
    fetch: async (input) => {
      fetched.push(input);
      return new Response('{}');
    },
  });
  const failure = await client.getTask('task-1').catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'CONFIGURATION_INVALID',
    message:
      'credentials are not sent to http://agent.example over an unencrypted connection: use https, or a loopback address',
  });
  expect(fetched).toEqual([]);
});

test('nor are credentials that a caller or an interceptor put among the headers', async () => {
  const card = agentCard({ url: 'http://agent.example/rpc' });
  const fetch = async () =>
    Response.json({ jsonrpc: '2.0', id: 1, result: task('TASK_STATE_WORKING') });
  const client = await connect(card, { fetch });
  for (const name of ['Authorization', 'cookie', 'X-API-Key', 'x-auth-token', 'Client-Secret']) {
    await expect(client.getTask('task-1', { headers: { [name]: 'hidden' } })).rejects.toMatchObject(
      { code: 'CONFIGURATION_INVALID' },
    );
  }
  const intercepted = await connect(card, {
    fetch,
    onRequest: ({ headers }) => headers.set('Authorization', 'Bearer hidden'),
  });
  await expect(intercepted.getTask('task-1')).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  });
  // Without credentials, plain http is the caller's choice.
  await client.getTask('task-1', { headers: { 'X-Trace': 'on' } });
});

test('https carries credentials', async () => {
  let authorization: string | null = null;
  const client = await connect(agentCard({ url: 'https://agent.example/rpc' }), {
    auth: { bearer: 't0ken' },
    fetch: async (_, init) => {
      authorization = new Headers(init?.headers).get('Authorization');
      expect(init?.redirect).toBe('manual');
      return Response.json({ jsonrpc: '2.0', id: 1, result: task('TASK_STATE_WORKING') });
    },
  });
  await client.getTask('task-1');
  expect(authorization).toBe('Bearer t0ken');
});

test('a redirected call is not followed, within the origin or out of it', async () => {
  const agent = await scriptedAgent(speech, {
    getTask: (_, { response }) => {
      response.writeHead(307, { Location: 'https://evil.example/rpc' }).end();
      return undefined;
    },
    cancelTask: (_, { response }) => {
      response.writeHead(308, { Location: '/other' }).end();
      return undefined;
    },
  });
  const { client } = await connectTo(agent, { auth: { bearer: 't0ken' } });
  await expect(client.getTask('task-1')).rejects.toMatchObject({
    code: 'PEER_INVALID',
    message: `POST ${agent.url}/ redirects to https://evil.example/rpc, which is not followed: use the final address`,
  });
  await expect(client.cancelTask('task-1')).rejects.toMatchObject({ code: 'PEER_INVALID' });
  expect(agent.received.map(({ operation }) => operation)).toEqual([
    'card',
    'getTask',
    'cancelTask',
  ]);
});

test.each(speeches)(
  'what a peer quotes of the credentials is blacked out: $binding $version',
  async (speech) => {
    const agent = await scriptedAgent(speech, {
      getTask: (_, { response, headers }) => {
        const error = {
          code: -32602,
          message: `bad token ${headers.authorization?.slice(7)}`,
          data: [{ fieldViolations: [{ field: 'header', description: headers.authorization }] }],
        };
        const isRpc = speech.binding === 'JSONRPC';
        response.statusCode = 400;
        response.end(JSON.stringify(isRpc ? { jsonrpc: '2.0', id: 1, error } : error));
        return undefined;
      },
    });
    const { client } = await connectTo(agent, {
      auth: { headers: () => ({ Authorization: 'Bearer s3cret-token' }) },
    });
    const failure = await client.getTask('task-1').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'INVALID_PARAMS',
      message: 'bad token [redacted]',
      violations: [{ field: 'header', description: '[redacted]' }],
    });
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain('s3cret');
  },
);

test('a value that no header can carry is refused without being quoted', async () => {
  for (const auth of [
    { bearer: 'hid\nden' },
    { apiKey: { name: 'not a name', value: 'hidden' } },
  ]) {
    const client = await connect(agentCard({ url: 'https://agent.example' }), { auth });
    const failure = await client.getTask('task-1').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(failure)).not.toMatch(/hid/);
  }
});

test('an interceptor sees every request, without credentials, and can add to it', async () => {
  const agent = await scriptedAgent(speech, { getTask: () => task('TASK_STATE_WORKING') });
  const seen: [string, string, string | null][] = [];
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { client } = await connectTo(agent, {
    auth: { bearer: 't0ken' },
    onRequest: async ({ method, operation, headers }) => {
      seen.push([method, operation, headers.get('Authorization')]);
      headers.set('traceparent', traceparent);
    },
  });
  await client.getTask('task-1');
  expect(seen).toEqual([
    ['GET', 'card', null],
    ['POST', 'getTask', null],
  ]);
  expect(agent.received.map(({ headers }) => headers.traceparent)).toEqual([
    traceparent,
    traceparent,
  ]);
});
