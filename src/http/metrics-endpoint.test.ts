import { request as httpRequest } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { agent, textOf } from '../agents/index.ts';
import { apiKeyVerifier, Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import { connect } from '../client/index.ts';
import { artifact } from '../protocol/index.ts';
import { createLogger } from '../telemetry/index.ts';
import { serve, serveAll, type ServeOptions } from './index.ts';

const echo = agent({ name: 'echo' }, async function* (turn) {
  turn.logger.info({ token: 'hunter2' }, 'echo.said');
  yield artifact(textOf(turn.message));
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function served(options: ServeOptions) {
  const server = await serve(echo, options);
  closing.push(() => server.close());
  return server;
}

async function read(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    text: await response.text(),
  };
}

test('metrics are off by default', async () => {
  const { url } = await served({});
  expect((await read(`${url}/metrics`)).status).toBe(404);
});

test('metrics of turns and of the process are served to Prometheus', async () => {
  const { url } = await served({ prometheus: true });
  const client = await connect(url);
  await client.sendMessage('one');
  await client.sendMessage('two');
  const { status, type, text } = await read(`${url}/metrics`);
  expect(status).toBe(200);
  expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(text).toContain('# TYPE legate_turns_total counter\n');
  expect(text).toMatch(/^legate_turns_total\{agent="echo",outcome="completed"\} 2$/m);
  expect(text).toMatch(
    /^legate_turn_duration_seconds_count\{agent="[^"]+",outcome="completed"\} 2$/m,
  );
  expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
});

test('one registry serves the metrics of all agents of a process, at the root', async () => {
  const other = agent({ name: 'other' }, async function* () {
    yield artifact('x');
  });
  const server = await serveAll({ echo, other }, { prometheus: { path: '/internal/metrics' } });
  closing.push(() => server.close());
  for (const name of ['echo', 'other']) {
    const client = await connect(`${server.url}/${name}`);
    await client.sendMessage('x');
  }
  const { text } = await read(`${server.url}/internal/metrics`);
  expect(text).toContain('legate_turns_total{agent="echo",outcome="completed"} 1\n');
  expect(text).toContain('legate_turns_total{agent="other",outcome="completed"} 1\n');
  // The root only hands requests over to the agents, which count them.
  expect(text).toContain('operation="sendMessage"');
  expect(text).not.toContain('operation="root"');
});

test('where callers must authenticate, so must readers of metrics', async () => {
  const auth = new Authenticator({
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 's3cret-s3cret-s3cret', subject: 'p' }] })],
  });
  const { url } = await served({ auth, prometheus: true });
  expect((await read(`${url}/metrics`)).status).toBe(401);
  const { status, text } = await read(`${url}/metrics`, {
    authorization: 'Bearer s3cret-s3cret-s3cret',
  });
  expect(status).toBe(200);
  expect(text).toContain('legate_http_denied_total{code="UNAUTHENTICATED"} 1\n');
});

test('where anonymous callers are accepted, only this machine reads metrics, and a proxy on it does not count', async () => {
  const { url } = await served({ prometheus: true });
  for (const name of ['x-forwarded-for', 'x-forwarded-host', 'x-client-ip', 'forwarded', 'via']) {
    const { status, text } = await read(`${url}/metrics`, { [name]: '10.0.0.1' });
    expect(status).toBe(403);
    expect(text).not.toContain('legate_turns');
  }
  const open = await served({ prometheus: { access: 'public' } });
  expect((await read(`${open.url}/metrics`, { via: '1.1 proxy' })).status).toBe(200);
});

test('metrics are read, not written', async () => {
  const { port } = await served({ prometheus: true });
  const status = await new Promise<number | undefined>((resolve) => {
    httpRequest({ port, path: '/metrics', method: 'POST' }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
  });
  expect(status).toBe(405);
});

test('an invalid path is refused when the server starts', async () => {
  await expect(serve(echo, { prometheus: { path: 'metrics' } })).rejects.toThrow(
    'prometheus.path: "metrics" is not a valid path; use one like /metrics',
  );
});

test('all log lines of a turn have the same id, and no secret', async () => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'debug', write: (line) => lines.push(line) });
  const noisy = agent({ name: 'noisy' }, async function* (turn) {
    turn.logger.info({ token: 'hunter2' }, 'noisy.begun');
    yield artifact('x');
    // Somebody else's logger, deep inside.
    logger.info({ password: 'hunter2' }, 'library.line');
    throw new Error('Bearer hunter2hunter2 was refused');
  });
  const server = await serve(noisy, { logger });
  closing.push(() => server.close());
  const client = await connect(server.url);
  await client.sendMessage('x');
  await client.sendMessage('y');
  const turns = lines.map((line) => JSON.parse(line) as { event: string; turnId?: string });
  const events = ['noisy.begun', 'library.line', 'tasks.agent.failed'];
  const ofTurns = turns.filter(({ event }) => events.includes(event));
  expect(ofTurns.map(({ event }) => event)).toEqual([...events, ...events]);
  const ids = ofTurns.map(({ turnId }) => turnId);
  expect(new Set(ids.slice(0, 3)).size).toBe(1);
  expect(new Set(ids).size).toBe(2);
  expect(ids).not.toContain(undefined);
  expect(lines.join('')).not.toContain('hunter2');
});

test('a token of its own reads metrics where callers authenticate otherwise, and nothing else', async () => {
  const auth = new Authenticator({
    verifiers: [apiKeyVerifier({ keys: [{ key: 'a-long-key', subject: 'partner' }] })],
  });
  const { url } = await served({ auth, prometheus: { token: 'scrape-me' } });
  const bearer = { authorization: 'Bearer scrape-me' };
  expect((await read(`${url}/metrics`)).status).toBe(401);
  expect((await read(`${url}/metrics`, { authorization: 'Bearer wrong' })).status).toBe(401);
  expect((await read(`${url}/metrics`, bearer)).status).toBe(200);
  expect((await read(`${url}/metrics`, { 'x-api-key': 'a-long-key' })).status).toBe(200);
  expect((await read(`${url}/tasks`, { ...bearer, 'a2a-version': '1.0' })).status).toBe(401);
  await expect(served({ prometheus: { token: '' } })).rejects.toThrow('the token is empty');
});
