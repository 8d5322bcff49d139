import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent, textOf } from '../src/agents/index.ts';
import { serve, type Serving } from '../src/http/index.ts';
import { artifact, operations } from '../src/protocol/index.ts';

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(textOf(turn.message));
});

let server: Serving;
let url: string;
beforeAll(async () => {
  server = await serve(echo);
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.close());

const methods = Object.values(operations).flatMap(({ v1, v03 }) => [v1, v03]);
const json = fc.jsonValue({ maxDepth: 4 });
/** Something like a request: right in places, wrong in others. */
const params = fc.oneof(
  json,
  fc.record(
    {
      id: fc.oneof(fc.string(), json),
      taskId: json,
      pageSize: json,
      historyLength: json,
      configuration: json,
      metadata: json,
      message: fc.oneof(
        json,
        fc.record(
          {
            messageId: fc.oneof(fc.string(), json),
            role: fc.constantFrom('ROLE_USER', 'user', 1, 'agent', null),
            parts: fc.oneof(json, fc.array(fc.oneof(json, fc.record({ text: fc.string() })))),
            contextId: fc.oneof(fc.string(), json),
          },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: [] },
  ),
);

async function expectSane(response: Response): Promise<void> {
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  expect(response.status).not.toBe(500);
  expect(text).not.toMatch(/\bat .+\.[tj]s:\d+/);
  if (type.includes('json')) JSON.parse(text);
  else expect(type).toContain('text/event-stream');
}

test('whatever is sent to JSON-RPC, the answer is JSON-RPC and the server lives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        json.map((value) => JSON.stringify(value)),
        fc
          .record({
            jsonrpc: fc.constantFrom('2.0', '1.0', 2),
            id: fc.oneof(fc.integer(), fc.string(), json),
            method: fc.oneof(fc.constantFrom(...methods), fc.string()),
            params,
          })
          .map((value) => JSON.stringify(value)),
      ),
      fc.constantFrom('1.0', '0.3', '', '9.9', 'x'),
      async (body, version) => {
        const headers = { 'content-type': 'application/json', 'a2a-version': version };
        await expectSane(await fetch(url, { method: 'POST', headers, body }));
      },
    ),
    { numRuns: 300 },
  );
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('whatever path and body REST gets, the answer is JSON and the server lives', async () => {
  const segment = fc.oneof(
    fc.constantFrom(
      'tasks',
      'message:send',
      'message:stream',
      'v1',
      'x:cancel',
      'x:subscribe',
      'pushNotificationConfigs',
      '%',
      '%E0',
      '..',
      '__proto__',
    ),
    fc.string().map(encodeURIComponent),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(segment, { maxLength: 5 }),
      fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
      params,
      fc.constantFrom('1.0', '0.3'),
      async (segments, method, body, version) => {
        const init: RequestInit = {
          method,
          headers: { 'content-type': 'application/json', 'a2a-version': version },
        };
        if (method === 'POST') init.body = JSON.stringify(body);
        await expectSane(await fetch(`${url}/${segments.join('/')}`, init));
      },
    ),
    { numRuns: 300 },
  );
  expect((await fetch(`${url}/health`)).status).toBe(200);
});
