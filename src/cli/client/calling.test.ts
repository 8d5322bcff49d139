import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../../../test/certificate.ts';
import { apiKeyVerifier, Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import { serve, type Serving } from '../../http/index.ts';
import type { AgentCard, Task } from '../../protocol/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { fieldsOf, legate, patient } from '../testing/legate-process.ts';
import { type RawRequest, rawAgent, rawCard, result, sendJson } from '../testing/raw-agent.ts';
import { triedAgent } from '../testing/tried-agent.ts';

let server: Serving;
let guarded: Serving;
let folder: string;
const key = generateSigningKey();
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'legate-calling-'));
  server = await serve(triedAgent, { cardKeys: [key] });
  const auth = new Authenticator({
    verifiers: [
      bearerTokenVerifier({ tokens: [{ token: 'sesame-open', subject: 'ali' }] }),
      apiKeyVerifier({ keys: [{ key: 'key-of-gold', subject: 'ali' }], header: 'X-Gold' }),
    ],
  });
  guarded = await serve(triedAgent, { auth, extendedCard: true });
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await Promise.all([server.close(), guarded.close()]);
});

const stateOf = (out: string) => fieldsOf(out)['State'];

/** Answers every message with a completed task. */
function completing(card: (url: string) => object) {
  return (request: RawRequest) => {
    const { path, response, url } = request;
    if (path.startsWith('/.well-known')) return sendJson(response, card(url));
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    return result(request, { task });
  };
}

describe('A2ACLI_CARD_GET', () => {
  test(
    'CARD_GET_001: a host, a URL, the URL of a card, a file and a file URL name an agent',
    patient,
    async () => {
      const host = new URL(server.url).host;
      const file = join(folder, 'card.json');
      writeFileSync(file, JSON.stringify(server.router.cards.current));
      const references = [
        host,
        server.url,
        `${server.url}/.well-known/agent-card.json`,
        file,
        `file://${file}`,
      ];
      for (const reference of references) {
        const { code, out } = await legate(['card', 'get', '-a', reference, '-o', 'json']);
        expect(code).toBe(0);
        expect(JSON.parse(out)).toMatchObject({ name: 'tried' });
      }
      const sent = await legate(['send', '-a', file, 'chunks']);
      expect(stateOf(sent.out)).toBe('TASK_STATE_COMPLETED');
    },
  );

  test('CARD_GET_001: who it is, what it can, where and how it is called', patient, async () => {
    const { out } = await legate(['card', guarded.url]);
    expect(fieldsOf(out)).toMatchObject({
      Name: 'tried',
      Streaming: 'yes',
      'Push notifications': 'no',
      'Extended card': 'yes',
      Skill: 'tried (tried): Does as it is told.',
      Signature: 'absent',
    });
    expect(out).toContain(`Interface: JSONRPC 1.0 at ${guarded.url}`);
    expect(out).toContain('Security scheme: apiKey (apiKeySecurityScheme)');
  });

  test('CARD_GET_002: --validate prints all problems besides the card', patient, async () => {
    const good = await legate(['card', 'get', server.url, '--validate', '--json']);
    expect(good.code).toBe(0);
    await using wrong = await rawAgent(({ response, url }) =>
      sendJson(response, rawCard(url, { version: undefined, skills: [{ id: 's' }], odd: 1 })),
    );
    const bad = await legate(['card', 'get', wrong.url, '--validate', '--json']);
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.out)).toMatchObject({ name: 'Raw' });
    expect(bad.err).toContain('error: version is missing; give the card a version');
    expect(bad.err).toContain('error: skills[0].tags is missing');
    expect(bad.err).toContain('warning: odd is not a member of a card');
  });

  test('CARD_GET_003: the extended card is for callers with credentials', patient, async () => {
    const without = await legate(['card', 'get', '--extended', '--json', guarded.url]);
    expect(without.code).toBe(4);
    expect(JSON.parse(without.out)).toMatchObject({
      error: { code: 'A2ACLI_ERR_CREDENTIALS_MISSING' },
    });
    const env = { A2ACLI_BEARER: 'sesame-open' };
    const extended = await legate(['card', 'get', '--extended', '--json', guarded.url], { env });
    expect(extended.code).toBe(0);
    expect((JSON.parse(extended.out) as AgentCard).name).toBe('tried');
    const none = await legate(['card', 'get', '--extended', '--json', server.url], { env });
    expect(JSON.parse(none.out)).toMatchObject({
      error: { code: 'ExtendedAgentCardNotConfiguredError' },
    });
  });

  test(
    'CARD_GET_004: signatures are verified, unverifiable or absent, and never assumed',
    patient,
    async () => {
      const keys = join(folder, 'keys.json');
      writeFileSync(keys, JSON.stringify(publicKeySet([key])));
      const others = join(folder, 'others.json');
      writeFileSync(others, JSON.stringify(publicKeySet([generateSigningKey()])));
      const signature = async (...args: readonly string[]) =>
        fieldsOf((await legate(['card', server.url, ...args])).out)['Signature'];
      expect(await signature('--trusted-keys', keys)).toBe(`verified with the key ${key.kid}`);
      expect(await signature('--trusted-keys', others)).toMatch(/^unverifiable: /);
      expect(await signature()).toMatch(/^unverifiable: /);
    },
  );

  test.each([
    ['no-such-folder/card.json', 3, 'A2ACLI_ERR_CARD_NOT_FOUND'],
    ['file:///no/such/card.json', 3, 'A2ACLI_ERR_CARD_NOT_FOUND'],
    ['a b', 2, 'A2ACLI_ERR_USAGE'],
    ['http://user:word@localhost', 2, 'A2ACLI_ERR_USAGE'],
  ])('OUT_004: %s names no card: exit %i', patient, async (reference, exit, name) => {
    const { code, out } = await legate(['card', '--json', '-a', reference]);
    expect(code).toBe(exit);
    expect(JSON.parse(out)).toMatchObject({ error: { code: name, a2aCode: null } });
  });

  test(
    'OUT_004: a missing card, an invalid card and an unreachable server have their own codes',
    patient,
    async () => {
      await using empty = await rawAgent(({ response }) => sendJson(response, {}, 404));
      const missing = await legate(['card', '--json', empty.url]);
      expect(missing.code).toBe(3);
      expect(JSON.parse(missing.out)).toMatchObject({
        error: { code: 'A2ACLI_ERR_CARD_NOT_FOUND' },
      });
      await using wrong = await rawAgent(({ response }) => sendJson(response, [1]));
      const invalid = await legate(['card', '--json', wrong.url]);
      expect(invalid.code).toBe(1);
      expect(JSON.parse(invalid.out)).toMatchObject({ error: { code: 'A2ACLI_ERR_CARD_INVALID' } });
      const gone = await serve(triedAgent);
      await gone.close();
      const unreachable = await legate(['card', '--json', gone.url]);
      expect(unreachable.code).toBe(3);
      expect(JSON.parse(unreachable.out)).toMatchObject({
        error: { code: 'A2ACLI_ERR_UNREACHABLE' },
      });
    },
  );
});

describe('A2ACLI_AUTH', () => {
  test(
    'AUTH_001, AUTH_002: credentials by flag or environment, where the card says',
    patient,
    async () => {
      const send = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
        legate(['send', '-a', guarded.url, ...args, 'chunks'], { env });
      for (const { out } of [
        await send(['--bearer', 'sesame-open']),
        await send([], { A2ACLI_BEARER: 'sesame-open' }),
        await send(['--api-key', 'key-of-gold']),
        await send([], { A2ACLI_API_KEY: 'key-of-gold' }),
        await send(['--bearer', 'sesame-open'], { A2ACLI_BEARER: 'wrong-one' }),
        await send(['--svc-param', 'Authorization: Bearer sesame-open']),
      ]) {
        expect(stateOf(out)).toBe('TASK_STATE_COMPLETED');
      }
    },
  );

  test('EXIT_001, OUT_004: credentials that are missing or refused: exit 4', patient, async () => {
    const missing = await legate(['send', '-a', guarded.url, '--json', 'x']);
    expect(missing.code).toBe(4);
    expect(JSON.parse(missing.out)).toMatchObject({
      error: { code: 'A2ACLI_ERR_CREDENTIALS_MISSING', hint: expect.stringContaining('apiKey') },
    });
    const env = { A2ACLI_BEARER: 'wrong-one' };
    const refused = await legate(['send', '-a', guarded.url, 'x'], { env });
    expect(refused).toMatchObject({ code: 4, out: '' });
    expect(refused.err).toContain('A2ACLI_ERR_AUTH_FAILED');
    expect(refused.err).not.toContain('wrong-one');
  });

  test(
    'AUTH_001: a key travels in the query or in a cookie where the card says so',
    patient,
    async () => {
      for (const location of ['query', 'cookie'] as const) {
        const scheme = { apiKeySecurityScheme: { location, name: 'gold' } };
        await using agent = await rawAgent(
          completing((url) => rawCard(url, { capabilities: {}, securitySchemes: { scheme } })),
        );
        const args = ['send', agent.url, '--debug', '--api-key', 'key&of gold', 'x'];
        const { code, err } = await legate(args);
        expect(code).toBe(0);
        const request = agent.requests.at(-1);
        const carrier = location === 'query' ? request?.path : request?.headers.cookie;
        expect(carrier).toContain('gold=key%26of');
        expect(err).not.toMatch(/key(?:&|%26)of/);
      }
    },
  );

  test(
    'AUTH_008: a card is fetched without credentials, unless its server demands some',
    patient,
    async () => {
      await using silent = await rawAgent(({ response }) => sendJson(response, {}, 401));
      const env = { A2ACLI_BEARER: 'sesame-open' };
      expect((await legate(['card', silent.url], { env })).code).toBe(4);
      expect(silent.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
      await using asking = await rawAgent(({ response, headers, url }) => {
        if (headers.authorization === 'Bearer sesame-open') return sendJson(response, rawCard(url));
        response.setHeader('WWW-Authenticate', 'Bearer realm="x"');
        return sendJson(response, {}, 401);
      });
      expect((await legate(['card', asking.url], { env })).code).toBe(0);
    },
  );

  test('AUTH_004, OUT_007: --debug shows the wire, and nowhere a credential', patient, async () => {
    const echoing = 'sesame-open twice: sesame-open';
    const args = ['send', '-a', guarded.url, '--debug', '--verbose', '--stream'];
    const secrets = ['--bearer', 'sesame-open', '--svc-param', 'X-Note: hush-hush'];
    const { code, err } = await legate([...args, ...secrets, echoing]);
    expect(code).toBe(0);
    expect(err).toContain('[2] > POST ');
    expect(err).toContain('"method":"SendStreamingMessage"');
    expect(err).toContain('[2] < 200 OK');
    expect(err).toContain('authorization: [redacted]');
    expect(err).toContain('x-note: [redacted]');
    expect(err).not.toContain('sesame-open');
    expect(err).not.toContain('hush-hush');
  });

  test(
    'AUTH_003: TLS is verified unless --insecure is given, which prints a warning',
    patient,
    async () => {
      const { certificate, key: privateKey } = makeCertificate({
        commonName: 'localhost',
        alternativeNames: ['DNS:localhost', 'IP:127.0.0.1'],
      });
      const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
      writeFileSync(files.certificate, certificate);
      writeFileSync(files.key, privateKey);
      await using secure = await serve(triedAgent, { tls: files });
      const verified = await legate(['send', '-a', secure.url, 'chunks']);
      expect(verified).toMatchObject({ code: 3, out: '' });
      const env = { A2ACLI_BEARER: 'sesame-open' };
      const insecure = await legate(['send', '-a', secure.url, '--insecure', 'chunks'], { env });
      expect(insecure.code).toBe(0);
      expect(insecure.err).toMatch(/WARNING: certificates are not verified.*credentials are sent/);
    },
  );

  test('credentials never leave this machine without TLS', patient, async () => {
    const args = ['send', '-a', 'http://agent.example', '--bearer', 'sesame-open', 'x'];
    const card = join(folder, 'plain.json');
    writeFileSync(card, JSON.stringify(rawCard('http://agent.example')));
    const { code, err } = await legate(['send', '-a', card, ...args.slice(3)]);
    expect(code).toBe(2);
    expect(err).toContain('use https');
  });
});

describe('A2ACLI_TX, A2ACLI_VER', () => {
  const interfaces = (url: string) => [
    { url: `${url}/grpc`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
    { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'acme' },
    { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ];

  test(
    'TX_001, TX_002, TX_003, TX_004, VER_001: the first that is spoken, or the preferred, with its tenant',
    patient,
    async () => {
      await using agent = await rawAgent((request) => {
        const { path, response, url } = request;
        const card = rawCard(url, { capabilities: {}, supportedInterfaces: interfaces(url) });
        if (path.startsWith('/.well-known')) return sendJson(response, card);
        const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
        return path.startsWith('/rest') ? sendJson(response, { task }) : result(request, { task });
      });
      const called = async (...args: readonly string[]) => {
        const { code } = await legate(['send', agent.url, 'x', ...args]);
        expect(code).toBe(0);
        return agent.requests.at(-1);
      };
      const first = await called();
      expect(first?.path).toBe('/rest/acme/message:send');
      const preferred = await called('--transport', 'grpc', '--transport', 'jsonrpc');
      expect(preferred?.path).toBe('/rpc');
      expect(preferred?.body.params).not.toHaveProperty('tenant');
      const versions = agent.requests.map(({ headers }) => headers['a2a-version']);
      expect(new Set(versions)).toEqual(new Set(['1.0']));
    },
  );

  test('TX_003: over JSON-RPC the tenant stands in every request', patient, async () => {
    await using agent = await rawAgent(
      completing((url) => {
        const tenant = 'acme/eu 1';
        const one = { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant };
        return rawCard(url, { capabilities: {}, supportedInterfaces: [one] });
      }),
    );
    await legate(['send', agent.url, 'x']);
    expect(agent.requests.at(-1)?.body.params).toMatchObject({ tenant: 'acme/eu 1' });
  });

  test(
    'VER_001: a card that offers only 0.3 is called in 0.3, with a warning',
    patient,
    async () => {
      const old = { url: server.url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' };
      const file = join(folder, 'old.json');
      writeFileSync(file, JSON.stringify(rawCard(server.url, { supportedInterfaces: [old] })));
      const spoken = await legate(['send', '-a', file, '--json', 'chunks']);
      expect((JSON.parse(spoken.out) as { task: Task }).task.status.state).toBe(
        'TASK_STATE_COMPLETED',
      );
      expect(spoken.err).toContain('offers only A2A 0.3');
      const refused = await legate([
        'send',
        '-a',
        file,
        '--json',
        '--a2a-version',
        '1.0',
        'chunks',
      ]);
      expect(refused.code).toBe(1);
      expect(JSON.parse(refused.out)).toMatchObject({
        error: {
          code: 'VersionNotSupportedError',
          hint: expect.stringContaining('--a2a-version 0.3'),
          a2aCode: -32009,
        },
      });
    },
  );

  test('VER_002: extensions are requested by their URIs', patient, async () => {
    await using agent = await rawAgent(completing((url) => rawCard(url, { capabilities: {} })));
    await legate(['send', agent.url, '--extension', 'urn:x', '--extension', 'urn:y', 'x']);
    expect(agent.requests.at(-1)?.headers['a2a-extensions']).toMatch(/^urn:x, ?urn:y$/);
  });

  test('OUT_004: the same error has the same name over every binding', patient, async () => {
    for (const transport of ['JSONRPC', 'HTTP+JSON']) {
      const args = ['get', server.url, 'nothing', '--json', '--transport', transport];
      const { code, out } = await legate(args);
      expect(code).toBe(1);
      expect(JSON.parse(out)).toMatchObject({
        error: { code: 'TaskNotFoundError', a2aCode: -32001 },
      });
    }
  });
});

describe('A2ACLI_CONFIG, A2ACLI_DEFAULT', () => {
  test(
    'CONFIG_002: flag, environment, file of the folder, file of the user, default',
    patient,
    async () => {
      const home = join(folder, 'home');
      const project = join(folder, 'project/deep');
      mkdirSync(join(home, '.config/a2a-cli'), { recursive: true });
      mkdirSync(project, { recursive: true });
      const own = { mode: 0o600 };
      const user = `A2ACLI_AGENT_CARD=${server.url}\nA2ACLI_OUTPUT=json\nA2ACLI_BEARER=sesame-open\n`;
      writeFileSync(join(home, '.config/a2a-cli/.env'), user, own);
      writeFileSync(join(folder, 'project/.env'), 'A2ACLI_OUTPUT=text\n', own);
      const options = { env: { HOME: home }, directory: project };
      const shown = async (env: NodeJS.ProcessEnv = {}, ...args: readonly string[]) => {
        const all = { ...options, env: { ...options.env, ...env } };
        return (await legate(['config', 'show', ...args], all)).out;
      };
      const out = await shown();
      expect(out).toContain(`agent-card: ${server.url} (${join(home, '.config/a2a-cli/.env')})`);
      expect(out).toContain(`output: text (${join(folder, 'project/.env')})`);
      expect(out).toContain('bearer: [redacted] (');
      expect(out).toContain('a2a-version: the newest that the card offers (the default)');
      expect(await shown({ A2ACLI_OUTPUT: 'json' })).toContain('output: json (the environment)');
      const named = join(folder, 'named.env');
      writeFileSync(named, 'A2ACLI_OUTPUT=json\n', own);
      expect(await shown({}, '--config', named)).toContain(`output: json (${named})`);
      const sent = await legate(['send', '-o', 'json', 'chunks'], options);
      expect(JSON.parse(sent.out)).toHaveProperty('task');
      expect(sent.err).toBe('');
    },
  );

  test(
    'CONFIG_001: a file with a credential that other users can read causes a warning',
    patient,
    async () => {
      const file = join(folder, 'open.env');
      for (const setting of ['A2ACLI_BEARER=sesame-open', 'A2ACLI_SVC_PARAM=X-Api-Key:sesame']) {
        writeFileSync(file, `${setting}\n`, { mode: 0o644 });
        const { err } = await legate(['card', server.url, '--config', file]);
        expect(err).toContain(`chmod 600 ${file}`);
      }
    },
  );

  test('DEFAULT_001, CLI_001: help shows the defaults', patient, async () => {
    const { code, out } = await legate(['send', '--help']);
    expect(code).toBe(0);
    for (const words of [
      "(default: the card's order)",
      '(default: verified)',
      '(default: text)',
      '(default: concise)',
      'wait until the task ends or needs input (default)',
    ]) {
      expect(out.replaceAll(/\s+/g, ' ')).toContain(words);
    }
    const version = await legate(['--version']);
    expect(version).toMatchObject({ code: 0, err: '' });
    expect(version.out).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await legate(['help', 'send'])).out).toBe(out);
  });

  test('DEFAULT_001: --verbose shows ids and who sent what', patient, async () => {
    const { out } = await legate(['send', server.url, '--verbose', 'chunks']);
    expect(out).toContain('Text:\n  one two\n\n');
    expect(out).toContain('Artifact id: c');
    expect(out).toContain('Message: user');
  });
});
