import { generateKeyPairSync } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { ownSender, SenderAccess } from './sender-access.ts';
import { served, type Served } from './testing/served.ts';

const secret = 'a secret that is long enough to be one';
const environment = { SECRET: secret };
const endpoints = (more: string) => ({
  'endpoints.yml': `a2a_server:\n  description: Looks after a greenhouse.\n${more}\nstore: {type: memory}\n`,
});
const withJwt = (more = '') =>
  endpoints(`  auth:
    type: bearer
    jwt:
      algorithm: HS256
      secret: "\${SECRET}"
${more}`);

async function token(claims: JsonObject = {}, key = secret): Promise<string> {
  const jwt = new SignJWT(claims).setProtectedHeader({ alg: 'HS256' });
  return jwt.sign(new TextEncoder().encode(key));
}

const bearer = (jwt: string) => ({ authorization: `Bearer ${jwt}` });

/** The statuses of the agent and of both cards. */
async function statuses(
  house: Served,
  headers: Record<string, string>,
): Promise<readonly number[]> {
  const answers = [
    await house.rpc('tasks/get', { id: 'x' }, headers),
    await house.api('GET', '/.well-known/agent-card.json', undefined, headers),
    await house.api('GET', '/.well-known/agent.json', undefined, headers),
  ];
  for (const answer of answers.filter(({ status }) => status === 401)) {
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  }
  return answers.map(({ status }) => status);
}

test('without a valid token neither the agent nor its card answers', async () => {
  await using house = await served({ files: withJwt(), environment });
  const refused = [401, 401, 401];
  expect(await statuses(house, {})).toEqual(refused);
  expect(await statuses(house, { authorization: 'Basic eDp5' })).toEqual(refused);
  expect(await statuses(house, bearer('no.token.atall'))).toEqual(refused);
  expect(await statuses(house, bearer(await token({}, `${secret}!`)))).toEqual(refused);
  expect(await statuses(house, bearer(await token({ exp: 1_000_000_000 })))).toEqual(refused);
  expect(await statuses(house, bearer(await token()))).toEqual([200, 200, 200]);
  expect(house.logged).toContain('a2a_server.sanic_app.auth_rejected');
});

test('a refused message is not processed', async () => {
  await using house = await served({ files: withJwt(), environment });
  const parts = [{ kind: 'text', text: 'wait for the rain' }];
  const message = { kind: 'message', role: 'user', messageId: 'm', parts };
  expect((await house.rpc('message/send', { message })).status).toBe(401);
  expect(house.gate.entered).toBe(0);
});

test('issuer and audience must be those of the configuration', async () => {
  const files = withJwt('      issuer: https://auth.example.com\n      audience: greenhouse\n');
  await using house = await served({ files, environment });
  const right = { iss: 'https://auth.example.com', aud: 'greenhouse' };
  expect(await statuses(house, bearer(await token(right)))).toEqual([200, 200, 200]);
  for (const wrong of [{ ...right, iss: 'x' }, { ...right, aud: 'y' }, {}]) {
    expect(await statuses(house, bearer(await token(wrong)))).toEqual([401, 401, 401]);
  }
});

test('RS256 with a public key from a file', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await using house = await served({
    files: {
      ...endpoints('  auth: {type: bearer, jwt: {public_key_path: keys/public.pem}}'),
      'keys/public.pem': publicKey,
    },
  });
  const key = await importPKCS8(privateKey, 'RS256');
  const signed = await new SignJWT({}).setProtectedHeader({ alg: 'RS256' }).sign(key);
  expect(await statuses(house, bearer(signed))).toEqual([200, 200, 200]);
  // The public key is public: it must not do as a shared secret.
  expect(await statuses(house, bearer(await token({}, publicKey)))).toEqual([401, 401, 401]);
});

test('what one orchestrator talks about, another does not see', async () => {
  await using house = await served({ files: withJwt(), environment });
  const one = bearer(await token({ sub: 'one' }));
  const two = bearer(await token({ sub: 'two' }));
  const asked = await house.say('water the Monstera', { contextId: 'c', headers: one });
  const foreign = await house.rpc('tasks/get', { id: asked.id }, two);
  expect(foreign.body).toMatchObject({ error: { code: -32001 } });
  const other = await house.say('5', { contextId: 'c', headers: two });
  expect(other.status.state).not.toBe('completed');
  const own = await house.api('GET', '/conversations/c/tracker?subject=one');
  expect(own.body).toMatchObject({ slots: { plant: 'Monstera' } });
});

const push = endpoints(
  '  push_notifications_enabled: true\n  push_notification_allowed_hosts: [hooks.example.com, 127.0.0.1, localhost]',
);

test.each([
  'http://127.0.0.1:8099/hook',
  'http://localhost:8099/hook',
  'http://[::1]/hook',
  'http://10.0.0.7/hook',
  'http://192.168.1.1/hook',
  'http://169.254.169.254/latest/meta-data',
  'https://user:hunter2@hooks.example.com/hook',
  'ftp://hooks.example.com/hook',
  'https://elsewhere.example.org/hook',
  'https://hooks.example.com.evil.example.org/hook',
])('allowed hosts only narrow: a webhook at %s is refused', async (url) => {
  await using house = await served({ files: push });
  const parts = [{ kind: 'text', text: 'water the Monstera' }];
  const message = { kind: 'message', role: 'user', messageId: 'm', contextId: 'c', parts };
  const configuration = { pushNotificationConfig: { url } };
  const { body } = await house.rpc('message/send', { message, configuration });
  expect(body).toMatchObject({ error: { code: -32602 } });
  expect(JSON.stringify(body)).not.toContain('hunter2');
  const asked = await house.say('water the Monstera', { contextId: 'd' });
  const set = await house.rpc('tasks/pushNotificationConfig/set', {
    taskId: asked.id,
    pushNotificationConfig: { url },
  });
  expect(set.body).toMatchObject({ error: { code: -32602 } });
});

test('without push_notifications_enabled there are no webhooks', async () => {
  await using house = await served();
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const { body } = await house.rpc('tasks/pushNotificationConfig/set', {
    taskId: asked.id,
    pushNotificationConfig: { url: 'https://hooks.example.com/' },
  });
  expect(body).toMatchObject({ error: { code: -32003 } });
});

const restWith = (rest: string) => ({
  ...withJwt(),
  'credentials.yml': `rest: ${rest}\n`,
});

test('the REST channel behind the same authentication: a caller speaks as itself, and as listed senders', async () => {
  const files = restWith('{auth: true, senders: {web: "*", kiosk: ["kiosk-*", hall]}}');
  await using house = await served({ files, environment, enableApi: false });
  const say = async (subject: string | undefined, sender: string | undefined) => {
    const headers = subject === undefined ? {} : bearer(await token({ sub: subject }));
    const body = { message: 'hello', ...(sender !== undefined && { sender }) };
    const answer = await house.api('POST', '/webhooks/rest/webhook', body, headers);
    return answer.status;
  };
  expect(await say(undefined, 'ada')).toBe(401);
  expect(await say('ada', 'ada')).toBe(200);
  expect(await say('ada', undefined)).toBe(200);
  expect(await say('ada', 'bob')).toBe(403);
  expect(await say('ada', 'default')).toBe(403);
  expect(await say('web', 'bob')).toBe(200);
  expect(await say('kiosk', 'kiosk-7')).toBe(200);
  expect(await say('kiosk', 'hall')).toBe(200);
  expect(await say('kiosk', 'ada')).toBe(403);
  expect(house.warned).not.toContain('assistant.channel_unauthenticated');
});

test('no two callers have the same sender, whatever their tenants and subjects contain', () => {
  const callers = [
    { tenant: '', subject: 'a/b/c' },
    { tenant: 'a', subject: 'b/c' },
    { tenant: 'a/b', subject: 'c' },
    { tenant: 'a%2Fb', subject: 'c' },
    { tenant: '', subject: 'a%2Fb/c' },
  ].map((caller) => ({ ...caller, method: 'test' }));
  expect(new Set(callers.map(ownSender)).size).toBe(callers.length);
  const access = new SenderAccess({});
  expect(callers.map((caller) => access.senderOf(caller, ownSender(caller)))).toEqual(
    callers.map(ownSender),
  );
  const ada = { tenant: '', subject: 'staff/ada', method: 'test' };
  expect(access.senderOf(ada, 'staff/ada')).toBe('staff%2Fada');
});

test('a project that protects A2A and leaves REST open is told so at start', async () => {
  await using house = await served({ files: restWith('{}'), environment });
  expect(house.warned).toContain('assistant.channel_unauthenticated');
});

test('REST cannot ask who callers are where nothing verifies them', async () => {
  const open = { ...endpoints(''), 'credentials.yml': 'rest: {auth: true}\n' };
  await expect(served({ files: open })).rejects.toThrow(
    'credentials.yml: rest.auth: true requires authentication; configure a2a_server.auth in endpoints.yml',
  );
});

test('the HTTP API behind the same authentication: administrators, and callers with their own conversation', async () => {
  const files = withJwt('http_api: {auth: true, admins: [operator]}\n');
  await using house = await served({ files, environment, enableApi: true });
  const tracker = async (subject: string | undefined, id: string) => {
    const headers = subject === undefined ? {} : bearer(await token({ sub: subject }));
    return (await house.api('GET', `/conversations/${id}/tracker`, undefined, headers)).status;
  };
  expect(await tracker(undefined, 'ada')).toBe(401);
  expect(await tracker('ada', 'ada')).toBe(200);
  expect(await tracker('ada', 'bob')).toBe(403);
  expect(await tracker('operator', 'bob')).toBe(200);
});

test('keys of a2a_server.auth: a list of files, and require with mtls needs client certificates', async () => {
  const pems = [1, 2].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  const auth = (more = '') =>
    endpoints(
      `  auth:\n    type: bearer\n    jwt: {algorithm: ES256, public_key_path: [a.pem, b.pem]}\n${more}`,
    );
  const files = Object.fromEntries(
    pems.map(({ publicKey }, index) => [
      index === 0 ? 'a.pem' : 'b.pem',
      publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    ]),
  );
  await using house = await served({ files: { ...auth(), ...files }, environment });
  for (const { privateKey } of pems) {
    const jwt = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    expect(await statuses(house, bearer(jwt))).toEqual([200, 200, 200]);
  }
  const both = { ...auth('    require: [jwt, mtls]\n'), ...files };
  await expect(served({ files: both, environment })).rejects.toThrow(
    "auth.require contains mtls, but the server doesn't request client certificates",
  );
});

test('a signing key in a2a_server signs the card', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const files = {
    ...endpoints('  card_signing_key: card.pem\n'),
    'card.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  await using house = await served({ files, environment });
  expect(house.serving.router.cards.current.signatures?.length).toBeGreaterThan(0);
  await expect(
    served({ files: endpoints('  card_signing_key: none.pem\n'), environment }),
  ).rejects.toThrow(/a2a_server.card_signing_key: the file .*none.pem doesn't exist/);
});
