import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import { router } from '../endpoints.ts';
import { serve } from '../serve.ts';
import { inspectorChannel } from './inspector-channel.ts';
import { bakery, inspectedServer, inspectorToken } from './testing/inspected-server.ts';

const auth = new Authenticator({
  verifiers: [
    bearerTokenVerifier({
      tokens: [
        { token: 'operator-token', subject: 'olga', scopes: ['inspect'] },
        { token: 'caller-token', subject: 'carl' },
      ],
    }),
  ],
});
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** With headers that `fetch` does not let one set. */
function ask(
  port: number,
  headers: Record<string, string>,
  path = '/inspect/api/about',
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const call = httpRequest({ port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, headers: response.headers });
    });
    call.once('error', reject);
    call.end();
  });
}

async function statusWith(port: number, headers: Record<string, string>) {
  return (await ask(port, { ...token, ...headers })).status;
}

const token = { authorization: `Bearer ${inspectorToken}` };

/** The cookie that the link gives, as a browser sends it back. */
async function cookieOf(link: string): Promise<string> {
  const response = await fetch(link, { redirect: 'manual' });
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

test.each([
  'api/about',
  'api/tasks',
  'api/live',
  'api/push/configs',
  'api/push/deliveries',
  'api/push/attempts',
  'api/receiver',
  'api/peers',
  'api/network',
  'api/approvals',
  'a2a/bakery',
  'a2a/bakery/tasks',
])('%s requires the token, also on this machine', async (path) => {
  await using server = await inspectedServer();
  const response = await fetch(`${server.url}/inspect/${path}`, { redirect: 'manual' });
  expect(response.status).toBe(401);
  expect(await response.text()).toContain('open the link that the server printed');
  for (const value of ['', 'wrong', inspectorToken.slice(1), `${inspectorToken}x`]) {
    const { status } = await ask(server.serving.port, {
      host: 'localhost',
      authorization: `Bearer ${value}`,
    });
    expect(status).toBe(401);
  }
});

test.each([
  ['POST', 'api/proxy'],
  ['POST', 'api/agents'],
  ['POST', 'api/cards/check'],
  ['POST', 'api/push/deliveries/1/retry'],
  ['DELETE', 'api/receiver'],
  ['POST', 'api/peers/x/trust'],
  ['POST', 'api/approvals/x'],
  ['POST', 'a2a/bakery'],
])('%s %s changes nothing without the token', async (method, path) => {
  await using server = await inspectedServer({}, { proxy: true });
  const response = await fetch(`${server.url}/inspect/${path}`, { method });
  expect(response.status).toBe(401);
});

test('without a fixed token each start has another one, of 256 bits', async () => {
  const links = new Set<string>();
  for (let start = 0; start < 3; start += 1) {
    await using serving = await serve(bakery, { drainMs: 0, inspect: true });
    const given = new URL(serving.inspectorUrl ?? '').searchParams.get('token') ?? '';
    expect(given).toMatch(/^[\w-]{43}$/);
    links.add(given);
    const about = await fetch(`${serving.url}/inspect/api/about`, {
      headers: { authorization: `Bearer ${given}` },
    });
    expect(about.status).toBe(200);
  }
  expect(links.size).toBe(3);
});

test('an empty or invalid token is refused at the start', async () => {
  for (const wrong of ['', ' ', 'with space', 'ümlaut']) {
    await expect(serve(bakery, { inspect: { token: wrong } })).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
    });
  }
});

test('the link is exchanged for a cookie, and redirects to the page without the token', async () => {
  await using server = await inspectedServer();
  const { port } = server.serving;
  expect(server.link).toBe(`${server.url}/inspect/?token=${inspectorToken}`);
  const opened = await fetch(server.link, { redirect: 'manual' });
  expect([opened.status, opened.headers.get('location')]).toEqual([303, './']);
  expect(opened.headers.get('cache-control')).toBe('no-store');
  expect(opened.headers.get('referrer-policy')).toBe('no-referrer');
  const set = opened.headers.get('set-cookie') ?? '';
  expect(set).toMatch(new RegExp(`^legate_inspect_${port}=[\\w-]{43}; HttpOnly; SameSite=Strict$`));
  expect(set).not.toContain(inspectorToken);
  const cookie = set.split(';')[0] ?? '';
  const host = `localhost:${port}`;
  expect((await ask(port, { host, cookie })).status).toBe(200);
  expect((await ask(port, { host, cookie: `a=b; ${cookie}; c=d` })).status).toBe(200);
  // The other server of this host may have set one of the same name.
  const [name] = cookie.split('=');
  expect((await ask(port, { host, cookie: `${name}=x; ${cookie}` })).status).toBe(200);
  expect((await ask(port, { host, cookie: `${name}=${inspectorToken}` })).status).toBe(401);
  expect((await ask(port, { host, cookie: `${cookie}x` })).status).toBe(401);
});

test('a wrong token gives no cookie; the page without one can still be loaded', async () => {
  await using server = await inspectedServer();
  for (const query of ['token=wrong', 'token=', 'token=a&token=b']) {
    const response = await fetch(`${server.url}/inspect/?${query}`, { redirect: 'manual' });
    expect([response.status, response.headers.get('set-cookie')]).toEqual([303, null]);
  }
  const page = await fetch(`${server.url}/inspect/`);
  expect([page.status, page.headers.get('set-cookie')]).toEqual([200, null]);
  // In the query of the API it would end up in logs.
  expect((await fetch(`${server.url}/inspect/api/about?token=${inspectorToken}`)).status).toBe(401);
});

test('the link works without its slash, and below a path of its own', async () => {
  await using server = await inspectedServer();
  const response = await fetch(server.link.replace('/?', '?'), { redirect: 'manual' });
  expect([response.status, response.headers.get('location')]).toEqual([
    308,
    `inspect/?token=${inspectorToken}`,
  ]);
});

test('behind TLS the cookie is for TLS only', async () => {
  await using server = await inspectedServer();
  const { port } = server.serving;
  const path = `/inspect/?token=${inspectorToken}`;
  const headers = { host: `localhost:${port}`, 'x-forwarded-proto': 'https' };
  const { headers: answer } = await ask(port, headers, path);
  expect(answer['set-cookie']?.[0]).toMatch(/; Secure$/);
});

test('two servers on one host have separate cookies', async () => {
  await using one = await inspectedServer({}, { token: 'token-of-the-first' });
  await using other = await inspectedServer({}, { token: 'token-of-the-other' });
  const cookies = [await cookieOf(one.link), await cookieOf(other.link)];
  expect(new Set(cookies.map((cookie) => cookie.split('=')[0])).size).toBe(2);
  // A browser sends both to both: cookies know no ports.
  const cookie = cookies.join('; ');
  for (const { serving } of [one, other]) {
    expect((await ask(serving.port, { host: `localhost:${serving.port}`, cookie })).status).toBe(
      200,
    );
  }
  const { port } = other.serving;
  const renamed = `legate_inspect_${port}=${cookies[0]?.split('=')[1]}`;
  expect((await ask(port, { host: `localhost:${port}`, cookie: renamed })).status).toBe(401);
});

test('guessing the token is limited like guessing credentials of callers', async () => {
  const callerLimits = { failuresPerMinute: 2, clock: { now: () => 0 } };
  await using server = await inspectedServer({ callerLimits });
  const statuses: number[] = [];
  for (let guess = 0; guess < 4; guess += 1) {
    const response = await fetch(`${server.url}/inspect/?token=${guess}`, { redirect: 'manual' });
    statuses.push(response.status);
  }
  expect(statuses).toEqual([303, 303, 429, 429]);
  const right = await fetch(server.link, { redirect: 'manual' });
  expect([right.status, right.headers.get('set-cookie')]).toEqual([429, null]);
  expect((await server.api('about')).status).toBe(429);
});

test('DNS rebinding is refused, with the token too', async () => {
  await using server = await inspectedServer();
  expect(await statusWith(server.serving.port, { host: 'evil.example' })).toBe(403);
  expect(await statusWith(server.serving.port, { host: 'localhost' })).toBe(200);
});

test('other pages cannot read the API, whatever origins may call the agent', async () => {
  await using server = await inspectedServer({ cors: ['*'] });
  const { port } = server.serving;
  const host = `localhost:${port}`;
  expect(await statusWith(port, { host, origin: 'https://evil.example' })).toBe(403);
  expect(await statusWith(port, { host, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusWith(port, { host, 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await statusWith(port, { host, 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await statusWith(port, { host, origin: `http://${host}` })).toBe(200);
});

test('an inspector that is mounted by hand has a link, too', async () => {
  const inspector = inspectorChannel({ token: inspectorToken });
  await using made = await router(bakery, { channels: [inspector] });
  expect(made.service.cards.current.name).toBe('bakery');
  expect(inspector.link('https://agents.example.com')).toBe(
    `https://agents.example.com/inspect/?token=${inspectorToken}`,
  );
});

test('of authenticated callers, only operators are admitted', async () => {
  await using server = await inspectedServer({ auth });
  const without = await fetch(`${server.url}/inspect/api/about`);
  expect(without.status).toBe(401);
  expect(without.headers.has('www-authenticate')).toBe(false);
  expect((await server.api('about', bearer('wrong'))).status).toBe(401);
  const caller = await server.api('about', bearer('caller-token'));
  expect(caller.status).toBe(403);
  expect(await caller.text()).toContain('scope inspect');
  const operator = await server.api('about', bearer('operator-token'));
  expect(await operator.json()).toMatchObject({ operator: 'olga' });
});

test('isOperator replaces the scope', async () => {
  await using server = await inspectedServer(
    { auth },
    { isOperator: ({ subject }) => subject === 'carl' },
  );
  expect((await server.api('about', bearer('caller-token'))).status).toBe(200);
  expect((await server.api('about', bearer('operator-token'))).status).toBe(403);
});

test('the agent behind the inspector is called as the operator', async () => {
  await using server = await inspectedServer({ auth });
  const url = `${server.url}/inspect/a2a/bakery`;
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
  });
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(401);
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, authorization: 'Bearer operator-token' },
    body,
  });
  const { result } = (await answer.json()) as { result: { task: { id: string } } };
  const record = await server.serving.router.store.load(result.task.id);
  expect(record?.owner).toBe('["bakery","","olga"]');
});

test('refusals are in the audit log', async () => {
  const told: unknown[] = [];
  const logger = {
    debug() {},
    info() {},
    error() {},
    warn: (fields: unknown, event: unknown) => void told.push([event, fields]),
    child: () => logger,
  };
  await using server = await inspectedServer({ auth, logger });
  await server.api('about', bearer('caller-token'));
  expect(told).toContainEqual([
    'audit.forbidden',
    expect.objectContaining({ what: 'GET /inspect/api/about', code: 'PERMISSION_DENIED' }),
  ]);
});
