import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { legate, patient, type Running, start } from '../testing/legate-process.ts';
import {
  type RawAgent,
  rawAgent,
  rawCard,
  type RawRequest,
  sendJson,
} from '../testing/raw-agent.ts';
import { byAuthorizationCode } from './authorization-code.ts';
import { discover } from './openid.ts';

const keys = await generateKeyPair('ES256');
const publicKey = { ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256' };

/** What a provider does otherwise than it should. */
interface Oddities {
  /** Members of its document. */
  readonly document?: (url: string) => object;
  /** Members of the identity that it gives. */
  readonly identity?: object;
  /** What it sends the browser back with. */
  readonly back?: (url: string) => Readonly<Record<string, string>>;
}

interface Provider extends RawAgent {
  readonly forms: URLSearchParams[];
}

/** An agent that takes the tokens of an OpenID provider, and the provider itself. */
async function provider(oddities: Oddities = {}): Promise<Provider> {
  const forms: URLSearchParams[] = [];
  const asked: URLSearchParams[] = [];
  const answers: Record<string, (request: RawRequest) => unknown> = {
    '/.well-known/agent-card.json': ({ url }) =>
      rawCard(url, {
        capabilities: {},
        securitySchemes: {
          oidc: {
            openIdConnectSecurityScheme: {
              openIdConnectUrl: `${url}/.well-known/openid-configuration`,
            },
          },
        },
        securityRequirements: [{ schemes: { oidc: { list: ['agents'] } } }],
      }),
    '/.well-known/openid-configuration': ({ url }) => ({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/keys`,
      grant_types_supported: ['authorization_code', 'client_credentials'],
      ...oddities.document?.(url),
    }),
    '/keys': () => ({ keys: [publicKey] }),
    '/device': ({ url }) => ({
      device_code: 'd-1',
      user_code: 'WDJB',
      verification_uri: `${url}/confirm`,
      interval: 0,
    }),
  };
  const agent = await rawAgent((request) => {
    void answer(request);
  });
  const answer = async (request: RawRequest): Promise<void> => {
    const { path, text, response, url, headers, body } = request;
    const { pathname, searchParams } = new URL(path, url);
    if (pathname === '/authorize') {
      asked.push(searchParams);
      const target = new URL(searchParams.get('redirect_uri') ?? '');
      const back = oddities.back?.(url) ?? { code: 'c-1' };
      const all = { state: searchParams.get('state') ?? '', ...back };
      for (const [name, value] of Object.entries(all)) target.searchParams.set(name, value);
      response.writeHead(302, { Location: target.href }).end();
      return;
    }
    if (pathname === '/token') {
      const form = new URLSearchParams(text);
      forms.push(form);
      sendJson(response, await tokenFor(form, url));
      return;
    }
    const known = answers[pathname];
    if (known !== undefined) return sendJson(response, known(request));
    if (headers.authorization !== 'Bearer fresh-token') return sendJson(response, {}, 401);
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    return sendJson(response, { jsonrpc: '2.0', id: body.id, result: { task } });
  };
  const tokenFor = async (form: URLSearchParams, url: string): Promise<object> => {
    const verifier = form.get('code_verifier');
    if (verifier !== null) {
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      if (challenge !== asked.at(-1)?.get('code_challenge')) return { error: 'invalid_grant' };
    }
    const nonce = asked.at(-1)?.get('nonce');
    const claims = { iss: url, aud: 'me', sub: 'ada', nonce, ...oddities.identity };
    const identity = new SignJWT(JSON.parse(JSON.stringify(claims)) as Record<string, unknown>);
    const signed = identity.setProtectedHeader({ alg: 'ES256', kid: 'k' }).setExpirationTime('5m');
    const isProgram = form.get('grant_type') === 'client_credentials';
    return {
      access_token: 'fresh-token',
      expires_in: 3600,
      ...(!isProgram && { id_token: await signed.sign(keys.privateKey) }),
    };
  };
  return Object.assign(agent, { forms });
}

function home(): Disposable & { readonly env: NodeJS.ProcessEnv; readonly tokens: string } {
  const directory = mkdtempSync(join(tmpdir(), 'legate-openid-'));
  return {
    env: { HOME: directory },
    tokens: join(directory, '.config/a2a-cli/tokens.json'),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Starts a login, and returns the page that a browser should open. */
async function startLogin(
  agent: RawAgent,
  env: NodeJS.ProcessEnv,
  ...flags: readonly string[]
): Promise<{ readonly running: Running; readonly page: string }> {
  const running = start(['auth', 'login', agent.url, '--client-id', 'me', ...flags], { env });
  await expect.poll(() => running.err, { timeout: 60_000 }).toContain('confirm the login');
  return { running, page: /open (\S+) and/.exec(running.err)?.[1] ?? '' };
}

test(
  'AUTH_010: login in the browser: discovery, redirect, verified ID token, stored token',
  patient,
  async () => {
    using user = home();
    await using agent = await provider();
    const { running, page } = await startLogin(agent, user.env, '--debug');
    const asked = new URL(page).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      client_id: 'me',
      scope: 'openid agents',
      code_challenge_method: 'S256',
    });
    // Requests of other processes to the port are ignored.
    const redirectUri = asked.get('redirect_uri') ?? '';
    expect(new URL(redirectUri).hostname).toBe('127.0.0.1');
    expect((await fetch(`${redirectUri}?state=guessed&code=evil`)).status).toBe(400);
    expect((await fetch(new URL('/else', redirectUri))).status).toBe(404);
    // A browser may open connections beside, and never use them.
    const unused = connect(Number(new URL(redirectUri).port), '127.0.0.1').on(
      'error',
      () => undefined,
    );
    const shown = await fetch(page);
    expect(await shown.text()).toContain('You are signed in');
    const { code, out, err } = await running.ended;
    expect(code).toBe(0);
    for (const field of ['code', 'code_verifier']) {
      expect(err).toContain(`${field}=[redacted]`);
      expect(err).not.toContain(agent.forms[0]?.get(field));
    }
    for (const field of ['access_token', 'id_token']) {
      expect(err).toContain(`"${field}":"[redacted]"`);
    }
    unused.destroy();
    expect(out).toContain('Subject: ada');
    expect(agent.forms[0]?.get('redirect_uri')).toBe(redirectUri);
    expect(readFileSync(user.tokens, 'utf8')).toContain('fresh-token');
    const sent = await legate(['send', agent.url, '--debug', 'x'], user);
    expect(sent.code).toBe(0);
    expect(sent.err).not.toContain('fresh-token');
  },
);

test(
  'AUTH_010: by device code and by client credentials, where the provider offers them',
  patient,
  async () => {
    using user = home();
    await using agent = await provider({
      document: (url) => ({
        device_authorization_endpoint: `${url}/device`,
        token_endpoint_auth_methods_supported: ['client_secret_post'],
      }),
    });
    const device = await legate(['auth', 'login', agent.url, '--client-id', 'me', '--json'], user);
    expect(device.err).toContain('confirm the code WDJB');
    expect(JSON.parse(device.out)).toMatchObject({ agent: agent.url, subject: 'ada' });
    const env = { ...user.env, A2ACLI_CLIENT_SECRET: 'hush-hush' };
    const flow = ['--flow', 'client-credentials', '--debug'];
    const program = await legate(['auth', 'login', agent.url, '--client-id', 'me', ...flow], {
      env,
    });
    expect(program.code).toBe(0);
    expect(program.err).not.toContain('hush-hush');
    // As the provider wants to be shown it.
    expect(Object.fromEntries(agent.forms.at(-1) ?? [])).toMatchObject({
      client_secret: 'hush-hush',
      scope: 'agents',
    });
  },
);

test.each<readonly [string, Oddities, string]>([
  ['of another login', { identity: { nonce: 'older' } }, 'for another login'],
  ['for another client', { identity: { aud: 'somebody' } }, 'invalid ID token'],
  ['of another issuer', { identity: { iss: 'https://evil.example' } }, 'invalid ID token'],
])(
  'AUTH_010: an identity %s is refused, and nothing is kept',
  patient,
  async (_, oddities, words) => {
    using user = home();
    await using agent = await provider(oddities);
    const { running, page } = await startLogin(agent, user.env);
    await (await fetch(page)).text();
    const { code, err } = await running.ended;
    expect(code).toBe(4);
    expect(err).toContain(words);
    expect(() => readFileSync(user.tokens)).toThrow();
  },
);

test.each<readonly [string, Oddities['back'] & object, string]>([
  ['a refusal', () => ({ error: 'access_denied', error_description: 'not you' }), 'not you'],
  [
    'another authority',
    () => ({ code: 'c', iss: 'https://evil.example' }),
    'another authorization server',
  ],
  ['no code', () => ({}), 'returned no code'],
])('AUTH_010: a browser that comes back with %s ends it', patient, async (_, back, words) => {
  using user = home();
  await using agent = await provider({ back });
  const { running, page } = await startLogin(agent, user.env);
  expect(await (await fetch(page)).text()).toContain('not signed in');
  const { code, err } = await running.ended;
  expect(code).toBe(4);
  expect(err).toContain(words);
});

test('AUTH_010: Ctrl+C ends the login', patient, async () => {
  using user = home();
  await using agent = await provider();
  const { running } = await startLogin(agent, user.env);
  running.child.kill('SIGINT');
  expect((await running.ended).code).toBe(130);
});

test('AUTH_010: a login times out, and fails if the port is taken', async () => {
  const request = {
    fetch: globalThis.fetch,
    authorizationUrl: 'https://a.example/authorize',
    tokenUrl: 'https://a.example/token',
    clientId: 'me',
    scope: '',
    signal: new AbortController().signal,
    timeoutMs: 20,
    prompt: () => undefined,
  };
  await expect(byAuthorizationCode(request)).rejects.toThrow('the login in the browser timed out');
  await using other = await rawAgent(() => undefined);
  const port = Number(new URL(other.url).port);
  await expect(byAuthorizationCode({ ...request, port })).rejects.toThrow(`port ${port}`);
});

test('OpenID Connect Discovery 4.3: metadata of another issuer is refused', async () => {
  const fetching = { fetch: globalThis.fetch, signal: new AbortController().signal };
  await using other = await provider({ document: () => ({ issuer: 'https://evil.example' }) });
  await expect(discover(other.url, fetching)).rejects.toThrow('another issuer');
  await using broken = await provider({ document: () => ({ token_endpoint: 7 }) });
  await expect(discover(broken.url, fetching)).rejects.toThrow('not the metadata');
  await expect(discover(`${broken.url}/nowhere`, fetching)).rejects.toThrow(
    'not an OpenID provider',
  );
  await expect(discover('http://authority.example', fetching)).rejects.toThrow('not https');
});
