import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { legate, patient } from '../testing/legate-process.ts';
import { type RawAgent, rawAgent, rawCard, sendJson } from '../testing/raw-agent.ts';
import { byDeviceCode } from './oauth.ts';

interface Authority {
  /** What a request for a token is answered with. */
  readonly token: (form: URLSearchParams) => object;
  readonly flows: (url: string) => object;
}

/** An agent that accepts the token `fresh`, and the authorization server that issues it. */
function guardedAgent({
  token,
  flows,
}: Authority): Promise<RawAgent & { forms: URLSearchParams[] }> {
  const forms: URLSearchParams[] = [];
  const agent = rawAgent(({ path, headers, body, text, response, url }) => {
    if (path.startsWith('/.well-known')) {
      const scheme = { oauth2SecurityScheme: { flows: flows(url) } };
      const more = { capabilities: {}, securitySchemes: { oauth: scheme } };
      return sendJson(response, rawCard(url, more));
    }
    if (path === '/device') {
      const device = {
        device_code: 'device-code-1',
        user_code: 'WDJB',
        verification_uri: `${url}/confirm`,
      };
      return sendJson(response, { ...device, interval: 0, expires_in: 60 });
    }
    if (path === '/token') {
      const form = new URLSearchParams(text);
      forms.push(form);
      const answer = token(form);
      return sendJson(response, answer, 'error' in answer ? 400 : 200);
    }
    if (headers.authorization !== 'Bearer fresh-token') return sendJson(response, {}, 401);
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    return sendJson(response, { jsonrpc: '2.0', id: body.id, result: { task } });
  });
  return agent.then((started) => Object.assign(started, { forms }));
}

const deviceFlows = (url: string) => ({
  deviceCode: {
    deviceAuthorizationUrl: `${url}/device`,
    tokenUrl: `${url}/token`,
    scopes: { read: '' },
  },
});
const clientFlows = (url: string) => ({
  clientCredentials: { tokenUrl: `${url}/token`, scopes: { read: '', write: '' } },
});

function home(): Disposable & { readonly env: NodeJS.ProcessEnv; readonly tokens: string } {
  const directory = mkdtempSync(join(tmpdir(), 'legate-auth-'));
  return {
    env: { HOME: directory },
    tokens: join(directory, '.config/a2a-cli/tokens.json'),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

test(
  'AUTH_005, AUTH_007: login by device code stores the token and sends it from then on',
  patient,
  async () => {
    using user = home();
    const answers: object[] = [
      { error: 'authorization_pending' },
      { access_token: 'fresh-token', expires_in: 3600, refresh_token: 'again-please' },
    ];
    await using agent = await guardedAgent({
      flows: deviceFlows,
      token: () => answers.shift() ?? {},
    });
    expect((await legate(['send', agent.url, 'x'], user)).code).toBe(4);
    const args = ['auth', 'login', agent.url, '--client-id', 'me', '--debug'];
    const { code, out, err } = await legate(args, user);
    expect(code).toBe(0);
    expect(err).toContain(`open ${agent.url}/confirm and confirm the code WDJB`);
    expect(out).toContain(`Token: kept in ${user.tokens}`);
    expect(agent.forms.map((form) => form.get('device_code'))).toEqual([
      'device-code-1',
      'device-code-1',
    ]);
    expect(err).toContain('"access_token":"[redacted]"');
    expect(err).toContain('device_code=[redacted]');
    for (const secret of ['fresh-token', 'again-please', 'device-code-1']) {
      expect(err).not.toContain(secret);
    }
    expect(statSync(user.tokens).mode & 0o777).toBe(0o600);
    const sent = await legate(['send', agent.url, '--debug', 'x'], user);
    expect(sent.code).toBe(0);
    expect(sent.err).not.toContain('fresh-token');
    // What was given for one agent is for no other.
    await using other = await guardedAgent({ flows: deviceFlows, token: () => ({}) });
    expect((await legate(['send', other.url, 'x'], user)).code).toBe(4);
    const left = await legate(['auth', 'logout', agent.url], user);
    expect(left.out).toContain('Token: deleted');
    expect((await legate(['send', agent.url, 'x'], user)).code).toBe(4);
  },
);

test('AUTH_006: a program logs in with its own credentials', patient, async () => {
  using user = home();
  await using agent = await guardedAgent({
    flows: clientFlows,
    token: () => ({ access_token: 'fresh-token' }),
  });
  const env = { ...user.env, A2ACLI_CLIENT_ID: 'ci', A2ACLI_CLIENT_SECRET: 'hush-hush' };
  const { code, err } = await legate(['auth', 'login', agent.url, '--debug'], { env });
  expect(code).toBe(0);
  expect(Object.fromEntries(agent.forms[0] ?? [])).toEqual({
    grant_type: 'client_credentials',
    scope: 'read write',
  });
  const basic = Buffer.from('ci:hush-hush').toString('base64');
  const asked = agent.requests.find(({ path }) => path === '/token');
  expect(asked?.headers.authorization).toBe(`Basic ${basic}`);
  for (const secret of ['hush-hush', basic]) expect(err).not.toContain(secret);
  expect((await legate(['send', agent.url, 'x'], user)).code).toBe(0);
});

test('AUTH_007: an expired token is refreshed and stored', patient, async () => {
  using user = home();
  await using agent = await guardedAgent({
    flows: clientFlows,
    token: (form) =>
      form.get('grant_type') === 'refresh_token'
        ? { access_token: 'fresh-token', expires_in: 3600 }
        : { access_token: 'stale-token', expires_in: 0, refresh_token: 'again-please' },
  });
  await legate(['auth', 'login', agent.url, '--client-id', 'me'], user);
  const { code, err } = await legate(['send', agent.url, '--debug', 'x'], user);
  expect(code).toBe(0);
  for (const secret of ['fresh-token', 'again-please']) expect(err).not.toContain(secret);
  expect(agent.forms.at(-1)?.get('refresh_token')).toBe('again-please');
  const kept = JSON.parse(readFileSync(user.tokens, 'utf8')) as Record<string, object>;
  expect(kept[agent.url]).toMatchObject({
    accessToken: 'fresh-token',
    refreshToken: 'again-please',
  });
});

test(
  'a token file that other users can read is not used, but kept and protected',
  patient,
  async () => {
    using user = home();
    await using agent = await guardedAgent({
      flows: clientFlows,
      token: () => ({ access_token: 'fresh-token' }),
    });
    const expose = () => chmodSync(user.tokens, 0o644);
    const login = (url: string) => legate(['auth', 'login', url, '--client-id', 'me'], user);
    await login(agent.url);
    expose();
    const sent = await legate(['send', agent.url, 'x'], user);
    expect(sent.code).toBe(4);
    expect(sent.err).toContain(`chmod 600 ${user.tokens}`);
    // A login for another agent keeps the token.
    await using other = await guardedAgent({
      flows: clientFlows,
      token: () => ({ access_token: 'fresh-token' }),
    });
    await login(other.url);
    expect(statSync(user.tokens).mode & 0o777).toBe(0o600);
    expect((await legate(['send', agent.url, 'x'], user)).code).toBe(0);
    expose();
    const left = await legate(['auth', 'logout', agent.url], user);
    expect(left.out).toContain('Token: deleted');
    expect(statSync(user.tokens).mode & 0o777).toBe(0o600);
    expect(Object.keys(JSON.parse(readFileSync(user.tokens, 'utf8')) as object)).toEqual([
      other.url,
    ]);
  },
);

test('an authorization server that never ends its response is cut off', patient, async () => {
  using user = home();
  await using agent = await rawAgent(({ path, response, url }) => {
    if (path.startsWith('/.well-known')) {
      const scheme = { oauth2SecurityScheme: { flows: clientFlows(url) } };
      return sendJson(response, rawCard(url, { securitySchemes: { oauth: scheme } }));
    }
    return void response.write(' '.repeat(lengths.shift() ?? 0));
  });
  const lengths = [300 * 1024, 1];
  const args = ['auth', 'login', agent.url, '--client-id', 'me'];
  const long = await legate(args, user);
  expect(long.code).toBe(4);
  expect(long.err).toContain('answered with more than 256 KiB');
  const slow = await legate([...args, '--timeout', '2s'], user);
  expect(slow.err).toContain('did not end within 2000 ms (A2ACLI_ERR_TIMEOUT)');
});

test('a refused login prints the reason and stores nothing', patient, async () => {
  using user = home();
  const refusal = { error: 'access_denied', error_description: 'not you' };
  await using agent = await guardedAgent({ flows: deviceFlows, token: () => refusal });
  const { code, out } = await legate(
    ['auth', 'login', agent.url, '--client-id', 'me', '--json'],
    user,
  );
  expect(code).toBe(4);
  expect(JSON.parse(out)).toMatchObject({
    error: { code: 'A2ACLI_ERR_AUTH_FAILED', message: expect.stringContaining('not you') },
  });
  expect(statSync(user.tokens, { throwIfNoEntry: false })).toBeUndefined();
  const none = ['auth', 'login', agent.url, '--client-id', 'me', '--flow', 'client-credentials'];
  expect((await legate(none, user)).err).toContain('declares no client-credentials flow');
});

test(
  'RFC 8628: slow_down increases the interval; an expired code ends the wait',
  patient,
  async () => {
    const pauses: number[] = [];
    let now = 0;
    const answers = [
      { device_code: 'd', user_code: 'c', verification_uri: 'https://a.example', expires_in: 20 },
      { error: 'slow_down' },
      { error: 'authorization_pending' },
      { error: 'authorization_pending' },
    ];
    const login = byDeviceCode({
      fetch: () =>
        Promise.resolve(Response.json(answers.shift() ?? { error: 'authorization_pending' })),
      tokenUrl: 'https://a.example/token',
      deviceAuthorizationUrl: 'https://a.example/device',
      clientId: 'me',
      scope: '',
      signal: new AbortController().signal,
      now: () => now,
      wait: (ms) => {
        pauses.push(ms);
        now += ms;
        return Promise.resolve();
      },
      prompt: () => undefined,
    });
    await expect(login).rejects.toThrow('the code was not confirmed in time');
    expect(pauses).toEqual([5_000, 10_000, 10_000]);
  },
);

test('an authorization server without TLS gets no credentials', patient, async () => {
  using user = home();
  await using agent = await guardedAgent({
    flows: () => clientFlows('http://authority.example'),
    token: () => ({}),
  });
  const env = { ...user.env, A2ACLI_CLIENT_SECRET: 'hush-hush' };
  const { code, err } = await legate(['auth', 'login', agent.url, '--client-id', 'me'], { env });
  expect(code).toBe(4);
  expect(err).toContain('which is not https');
});
