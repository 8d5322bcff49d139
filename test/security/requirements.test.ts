/**
 * The 25 requirements that the official test kit names and never tests, each shown by a test of that
 * name: here, or in one of the files beside this one.
 */
import type { IncomingMessage } from 'node:http';
import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import {
  agent,
  authRequired,
  rejected,
  textOf,
  type Turn,
  type TurnEvent,
} from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { serveGrpc } from '../../src/grpc/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { artifact, operations, type Operation } from '../../src/protocol/index.ts';
import { makeCertificate } from '../certificate.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { actor } from './support/agents.ts';
import { codeOf, dialects, resultOf, send, taskOf } from './support/dialects.ts';

const ids = [
  ...['001', '002', '003', '004', '005', '006'].map((number) => `AUTH-INTASK-${number}`),
  ...['001', '002', '003'].map((number) => `AUTH-SCOPE-${number}`),
  ...['001', '002'].map((number) => `AUTH-SERVER-${number}`),
  ...['001', '002'].map((number) => `AUTH-TLS-${number}`),
  ...['001', '002', '003', '004'].map((number) => `BIND-EQUIV-${number}`),
  ...['001', '002', '003', '004'].map((number) => `CARD-SIGN-${number}`),
  'GRPC-SVC-003',
  'VER-CLIENT-001',
  'VER-CLIENT-002',
  'VER-SERVER-001',
];

test('there are 25 of them, and each has a test that is named by it', () => {
  expect(ids).toHaveLength(25);
  const names = globSync('*.test.ts', { cwd: import.meta.dirname }).flatMap((file) => {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8');
    return [...text.matchAll(/'(?<name>[A-Z]+-[A-Z]+-\d{3}[^'\n]*: [^'\n]*)'/g)].map(
      ({ groups }) => groups?.['name'] ?? '',
    );
  });
  expect(ids.filter((id) => !names.some((name) => name.includes(id)))).toEqual([]);
});

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}, served = actor): Promise<string> {
  server = await serve(served, { drainMs: 0, ...options });
  return `http://127.0.0.1:${server.port}`;
}

/** Needs a key that comes by another way than the conversation. */
class Vault {
  readonly #keys = new Set<string>();

  /** By a page of its own, say: never by a message. */
  deposit(taskId: string): void {
    this.#keys.add(taskId);
  }

  readonly keeper = agent({ name: 'keeper' }, (turn) => this.#take(turn));

  async *#take(turn: Turn): AsyncGenerator<TurnEvent> {
    if (this.#keys.has(turn.taskId)) yield artifact('opened');
    else if (textOf(turn.message) === 'never mind') yield rejected('as you wish');
    else yield authRequired('Sign in at https://vault.example.com, then come back.');
  }
}

describe.each(dialects)('§7.6, $name', (dialect) => {
  const state = (name: string): string =>
    dialect.name === 'JSON-RPC 0.3' ? name.toLowerCase().replace('_', '-') : `TASK_STATE_${name}`;

  test('AUTH-INTASK-001, AUTH-INTASK-002, AUTH-INTASK-003: a task waits as auth-required and says for what', async () => {
    const url = await start({}, new Vault().keeper);
    const sent = await send(url, dialect.request('sendMessage'));
    const { id } = taskOf(dialect, sent);
    expect(id).not.toBe('');
    expect(sent.text).toContain(`"state":"${state('AUTH_REQUIRED')}"`);
    const got = await send(url, dialect.request('getTask', { id }));
    const { status } = resultOf(dialect, got) as { status: object };
    expect(JSON.stringify(status)).toContain('Sign in at https://vault.example.com');
  });

  test('AUTH-INTASK-004: the key comes by another way, and no message ever has it', async () => {
    const vault = new Vault();
    const url = await start({}, vault.keeper);
    const { id } = taskOf(dialect, await send(url, dialect.request('sendMessage')));
    // A message alone authorises nothing, whatever it claims (§7.6.4).
    const claimed = await send(
      url,
      dialect.request('sendMessage', { id, text: 'I am authorised' }),
    );
    expect(claimed.text).toContain(state('AUTH_REQUIRED'));
    vault.deposit(id);
    const followed = await send(url, dialect.request('sendMessage', { id, text: 'go on' }));
    expect(followed.text).toContain(state('COMPLETED'));
    expect(followed.text).toContain('opened');
  });

  test('AUTH-INTASK-005: streams stay open while the key is awaited, and tell the rest', async () => {
    const vault = new Vault();
    const url = await start({}, vault.keeper);
    const { path, headers, body = '' } = dialect.request('sendStreamingMessage');
    const stream = await fetch(url + path, { method: 'POST', headers, body });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes(state('AUTH_REQUIRED'))) seen += (await reader?.read())?.value ?? '';
    const id = /"(?:id|taskId)":"(?<id>[0-9a-f-]{36})"/.exec(seen)?.groups?.['id'] ?? '';
    vault.deposit(id);
    await send(url, dialect.request('sendMessage', { id, text: 'go on' }));
    for (;;) {
      const next = await reader?.read();
      if (next === undefined || next.done) break;
      seen += next.value;
    }
    expect(seen).toContain('opened');
    expect(seen).toContain(state('COMPLETED'));
  });

  test('AUTH-INTASK-006: messages are taken meanwhile, to correct or to call it off', async () => {
    const url = await start({}, new Vault().keeper);
    const { id } = taskOf(dialect, await send(url, dialect.request('sendMessage')));
    const asked = await send(url, dialect.request('sendMessage', { id, text: 'why?' }));
    expect(asked.text).toContain(state('AUTH_REQUIRED'));
    const off = await send(url, dialect.request('sendMessage', { id, text: 'never mind' }));
    expect(off.text).toContain(state('REJECTED'));
  });
});

describe('§5.1: the bindings of HTTP (gRPC stands among them in test/bindings.test.ts)', () => {
  test('BIND-EQUIV-001: every operation is there over every binding', async () => {
    const auth = new Authenticator({
      verifiers: [bearerTokenVerifier({ tokens: [{ token: 'ann', subject: 'ann' }] })],
    });
    const ann = { authorization: 'Bearer ann' };
    const url = await start({ push: {}, extendedCard: true, auth });
    const push = { url: 'https://example.com/' };
    for (const operation of Object.keys(operations) as Operation[]) {
      for (const dialect of dialects) {
        const task = taskOf(
          dialect,
          await send(url, dialect.request('sendMessage', { text: 'ask' }), ann),
        );
        const more = { id: task.id, configId: 'c', push: { id: 'c', ...push } };
        const create = dialect.request('createTaskPushNotificationConfig', more);
        resultOf(dialect, await send(url, create, ann));
        if (operation === 'subscribeToTask') {
          const { path, headers, method, body } = dialect.request(operation, task);
          const gone = new AbortController();
          const stream = await fetch(url + path, {
            method,
            headers: { ...headers, ...ann },
            signal: gone.signal,
            ...(body !== undefined && { body }),
          });
          expect(stream.headers.get('content-type')).toContain('text/event-stream');
          gone.abort();
          continue;
        }
        const answer = await send(url, dialect.request(operation, more), ann);
        expect([dialect.name, operation, answer.status]).toEqual([dialect.name, operation, 200]);
        expect(answer.text).not.toContain('"error"');
      }
    }
  });

  test('BIND-EQUIV-002: one task reads the same over every binding of its version', async () => {
    const url = await start();
    const [rpc1, rest1, rpc03, rest03] = dialects;
    if (rpc1 === undefined || rest1 === undefined) throw new Error('no dialect');
    if (rpc03 === undefined || rest03 === undefined) throw new Error('no dialect');
    const { id } = taskOf(rpc1, await send(url, rpc1.request('sendMessage')));
    const read = async (dialect: typeof rpc1) =>
      resultOf(dialect, await send(url, dialect.request('getTask', { id })));
    expect(await read(rest1)).toEqual(await read(rpc1));
    // The two forms of 0.3 spell differently what is the same.
    expect(await read(rpc03)).toMatchObject({
      id,
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'heard hello, turn 1' }] }],
    });
    expect(await read(rest03)).toMatchObject({
      id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'heard hello, turn 1' }] }],
    });
  });

  test('BIND-EQUIV-003: one failure has one reason over every binding', async () => {
    const url = await start();
    const [first] = dialects;
    if (first === undefined) throw new Error('no dialect');
    const { id } = taskOf(first, await send(url, first.request('sendMessage')));
    const failures: [Operation, object, string][] = [
      ['getTask', { id: 'absent' }, 'TASK_NOT_FOUND'],
      ['cancelTask', { id }, 'TASK_NOT_CANCELABLE'],
      ['sendMessage', { id }, 'UNSUPPORTED_OPERATION'],
      ['listTaskPushNotificationConfigs', { id }, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      ['getExtendedAgentCard', {}, 'UNSUPPORTED_OPERATION'],
    ];
    for (const [operation, parameters, reason] of failures) {
      for (const dialect of dialects) {
        const answer = await send(url, dialect.request(operation, parameters));
        expect([operation, dialect.name, codeOf(answer)]).toEqual([
          operation,
          dialect.name,
          reason,
        ]);
      }
    }
  });
});

describe('§3.6', () => {
  test('VER-CLIENT-001: our client names its version with every request, the one for the card included', async () => {
    const seen: [string, unknown][] = [];
    const url = await start({ push: {} });
    server?.server.prependListener('request', ({ method, url: path, headers }: IncomingMessage) => {
      seen.push([`${method} ${path}`, headers['a2a-version']]);
    });
    for (const version of ['1.0', '0.3'] as const) {
      for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
        seen.length = 0;
        const client = await connect(url, { version, binding });
        const messageId = `${version} ${binding}`;
        const message = { messageId, role: 'ROLE_USER' as const, parts: [{ text: 'ask' }] };
        const { task } = (await client.sendMessage({ message })) as { task: { id: string } };
        await client.getTask({ id: task.id });
        await client.createTaskPushNotificationConfig({
          taskId: task.id,
          url: 'https://example.com/',
        });
        await client.cancelTask({ id: task.id });
        for await (const _ of client.sendStreamingMessage({
          message: { ...message, messageId: 'n', parts: [{ text: 'hi' }] },
        }));
        const [card, ...calls] = seen;
        expect(card).toEqual(['GET /.well-known/agent-card.json', '1.0']);
        expect(calls.length).toBeGreaterThanOrEqual(5);
        expect(new Set(calls.map(([, stated]) => stated))).toEqual(new Set([version]));
      }
    }
  });

  test('VER-CLIENT-002: the third number of a version counts nowhere, and we send none', async () => {
    const url = await start();
    const list = async (version: string) =>
      (await fetch(`${url}/tasks`, { headers: { 'a2a-version': version } })).status;
    expect(await Promise.all(['1.0', '1.0.0', '1.0.5', '1.0.99'].map(list))).toEqual(
      Array(4).fill(200),
    );
    expect((await fetch(`${url}/tasks?A2A-Version=1.0.3`)).status).toBe(200);
    expect((await fetch(`${url}/v1/tasks`, { headers: { 'a2a-version': '0.3.7' } })).status).toBe(
      200,
    );
    expect(await Promise.all(['1.1', '2.0', '0.4', 'x'].map(list))).toEqual(Array(4).fill(400));
    for (const { protocolVersion } of server?.router.cards.current.supportedInterfaces ?? []) {
      expect(protocolVersion).toMatch(/^\d+\.\d+$/);
    }
  });

  test('VER-SERVER-001: a request is read and answered as its version has it', async () => {
    const url = await start();
    const [v1, , v03] = dialects;
    if (v1 === undefined || v03 === undefined) throw new Error('no dialect');
    const wrapped = resultOf(v1, await send(url, v1.request('sendMessage'))) as object;
    expect(Object.keys(wrapped)).toEqual(['task']);
    expect(wrapped).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED');
    expect(JSON.stringify(wrapped)).not.toContain('"kind"');
    const bare = resultOf(v03, await send(url, v03.request('sendMessage')));
    expect(bare).toMatchObject({ kind: 'task', status: { state: 'completed' } });
    // No version at all is 0.3, and 0.3 has no such method.
    const { body = '' } = v1.request('listTasks');
    const unstated = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(await unstated.text()).toContain('VERSION_NOT_SUPPORTED');
    const mixed = await send(url, { ...v03.request('listTasks') }, { 'a2a-version': '1.0' });
    expect(codeOf(mixed)).toBe('METHOD_NOT_FOUND');
  });
});

test('GRPC-SVC-003: the gRPC server speaks HTTP/2 over TLS', async () => {
  await using directory = await temporaryDirectory();
  const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
  const pair = makeCertificate({
    commonName: 'server',
    issuer: authority,
    alternativeNames: ['DNS:localhost'],
  });
  const tls = {
    certificate: join(directory.path, 'server.pem'),
    key: join(directory.path, 'server-key.pem'),
  };
  await writeFile(tls.certificate, pair.certificate);
  await writeFile(tls.key, pair.key);
  await start();
  if (server === undefined) throw new Error('no server');
  const grpcServer = await serveGrpc(server.router, { tls });
  const socket = tlsConnect({
    port: grpcServer.port,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: authority.certificate,
    ALPNProtocols: ['h2'],
  });
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
  });
  expect([socket.alpnProtocol, socket.getProtocol()]).toEqual(['h2', 'TLSv1.3']);
  socket.destroy();
  await grpcServer.close({ graceMs: 0 });
});
