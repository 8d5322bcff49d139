import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiKeyVerifier, Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import { type GrpcServer, serveGrpc } from '../../grpc/index.ts';
import { serve, type Serving } from '../../http/index.ts';
import type { Task } from '../../protocol/index.ts';
import { fieldsOf, legate, patient, start } from '../testing/legate-process.ts';
import { triedAgent } from '../testing/tried-agent.ts';

let server: Serving;
let grpcServer: GrpcServer;
let guarded: Serving;
let guardedGrpcServer: GrpcServer;
let folder: string;
/** The card of an agent that is spoken to over gRPC alone. */
let card: string;
let guardedCard: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'legate-grpc-verbs-'));
  server = await serve(triedAgent);
  grpcServer = await serveGrpc(server.router);
  card = cardFile('card.json', server, grpcServer);
  const auth = new Authenticator({
    verifiers: [
      bearerTokenVerifier({ tokens: [{ token: 'sesame-open', subject: 'ali' }] }),
      apiKeyVerifier({ keys: [{ key: 'key-of-gold', subject: 'ali' }], header: 'X-Gold' }),
    ],
  });
  guarded = await serve(triedAgent, { auth });
  guardedGrpcServer = await serveGrpc(guarded.router);
  guardedCard = cardFile('guarded.json', guarded, guardedGrpcServer);
});
afterAll(async () => {
  await Promise.all([grpcServer.close({ graceMs: 0 }), guardedGrpcServer.close({ graceMs: 0 })]);
  await Promise.all([server.close(), guarded.close()]);
  rmSync(folder, { recursive: true, force: true });
});

function cardFile(name: string, { router }: Serving, { interfaces }: GrpcServer): string {
  const path = join(folder, name);
  const only = { ...router.cards.current, supportedInterfaces: interfaces };
  writeFileSync(path, JSON.stringify(only));
  return path;
}

const stateOf = (out: string) => fieldsOf(out)['State'];

test('TX_005: send, get, list and cancel over gRPC', patient, async () => {
  const sent = await legate(['send', '-a', card, 'chunks']);
  expect(sent).toMatchObject({ code: 0, err: '' });
  expect(sent.out).toContain('  one two\n');
  expect(stateOf(sent.out)).toBe('TASK_STATE_COMPLETED');
  const id = fieldsOf(sent.out)['Task'] ?? '';
  const got = await legate(['get', '-a', card, '--json', id]);
  expect((JSON.parse(got.out) as Task).id).toBe(id);
  const listed = await legate(['list', '-a', card, '--json']);
  expect((JSON.parse(listed.out) as { tasks: Task[] }).tasks.map((task) => task.id)).toContain(id);
  const started = await legate(['send', '-a', card, '--async', 'wait']);
  const running = fieldsOf(started.out)['Task'] ?? '';
  const ended = await legate(['cancel', '-a', card, running]);
  expect(stateOf(ended.out)).toBe('TASK_STATE_CANCELED');
});

test(
  'TX_005, OUT_003: streams over gRPC are an object a line, and can be followed later',
  patient,
  async () => {
    const streamed = await legate(['send', '-a', card, '--stream', '--json', 'chunks']);
    const kinds = streamed.out
      .trimEnd()
      .split('\n')
      .map((line) => Object.keys(JSON.parse(line) as object)[0]);
    expect(kinds[0]).toBe('task');
    expect(kinds.filter((kind) => kind === 'artifactUpdate')).toHaveLength(2);
    expect(kinds.at(-1)).toBe('statusUpdate');
    const started = await legate(['send', '-a', card, '--async', 'wait']);
    const id = fieldsOf(started.out)['Task'] ?? '';
    const following = start(['subscribe', '-a', card, '--stream', '--json', id]);
    await expect.poll(() => following.out).toContain('"task"');
    await legate(['cancel', '-a', card, id]);
    const followed = await following.ended;
    expect(followed.code).toBe(0);
    expect(followed.out).toContain('TASK_STATE_CANCELED');
  },
);

test(
  'TX_005, OUT_004: errors over gRPC have the names and codes of the others',
  patient,
  async () => {
    const missing = await legate(['get', '-a', card, '--json', 'nothing']);
    expect(missing.code).toBe(1);
    expect(JSON.parse(missing.out)).toMatchObject({
      error: { code: 'TaskNotFoundError', a2aCode: -32001 },
    });
    const refused = await legate(['send', '-a', guardedCard, '--json', 'x']);
    expect(refused.code).toBe(4);
    expect(JSON.parse(refused.out)).toMatchObject({
      error: { code: 'A2ACLI_ERR_CREDENTIALS_MISSING' },
    });
    const gone = join(folder, 'gone.json');
    const nowhere = { url: '127.0.0.1:9', protocolBinding: 'GRPC', protocolVersion: '1.0' };
    const { current } = server.router.cards;
    writeFileSync(gone, JSON.stringify({ ...current, supportedInterfaces: [nowhere] }));
    const unreachable = await legate(['get', '-a', gone, '--json', 'x']);
    expect(unreachable.code).toBe(3);
    expect(JSON.parse(unreachable.out)).toMatchObject({
      error: { code: 'A2ACLI_ERR_UNREACHABLE' },
    });
  },
);

test(
  'TX_005, AUTH_004: credentials travel as metadata, and --debug shows the wire without them',
  patient,
  async () => {
    const secrets = { A2ACLI_BEARER: 'sesame-open' };
    const sent = await legate(['send', '-a', guardedCard, '--debug', 'sesame-open'], {
      env: secrets,
    });
    expect(sent.code).toBe(0);
    expect(sent.err).toMatch(/> sendStreamingMessage GRPC 1\.0 http:\/\//);
    expect(sent.err).toContain('authorization: [redacted]');
    expect(sent.err).toContain('a2a-version: 1.0');
    expect(sent.err).toContain('< {"task":');
    expect(sent.err).not.toContain('sesame-open');
    const keyed = await legate(['send', '-a', guardedCard, '--api-key', 'key-of-gold', 'chunks']);
    expect(stateOf(keyed.out)).toBe('TASK_STATE_COMPLETED');
  },
);

test(
  'TX_002, TX_005: --transport grpc prefers it where the card offers others first',
  patient,
  async () => {
    const interfaceOf = async (...flags: readonly string[]) => {
      const { err } = await legate(['send', server.url, '--debug', ...flags, 'chunks']);
      return /speaks (\S+) (\S+) with/.exec(err)?.slice(1, 3);
    };
    expect(await interfaceOf()).toEqual(['JSONRPC', '1.0']);
    expect(await interfaceOf('--transport', 'grpc')).toEqual(['GRPC', '1.0']);
    expect(await interfaceOf('--transport', 'GRPC', '--a2a-version', '0.3')).toEqual([
      'GRPC',
      '0.3',
    ]);
    const named = await legate(['send', server.url, '--transport', 'carrier-pigeon', 'x']);
    expect(named.code).toBe(2);
    expect(named.err).toContain('JSONRPC, HTTP+JSON or GRPC');
  },
);

test('TX_005: the card shows gRPC, and a conversation is held over it', patient, async () => {
  const shown = await legate(['card', server.url]);
  expect(shown.out).toContain(`Interface: GRPC 1.0 at localhost:${grpcServer.port}`);
  const input = 'ask\nthe blue one\n';
  const talked = await legate(['shell', server.url, '--transport', 'grpc'], { input });
  expect(talked).toMatchObject({ code: 0, err: '' });
  expect(talked.out).toBe('Which one?\nYou chose the blue one.\n');
});
