import { expect, test } from 'vitest';
import type { Part, Task } from '../../protocol/index.ts';
import { fieldsOf, legate, patient } from '../testing/legate-process.ts';
import { type RawAgent, rawAgent, rawCard, result, sendJson } from '../testing/raw-agent.ts';
import { authorizationUrls } from './following.ts';

const page = 'https://calendar.example/grant?task=1';

/**
 * An agent that needs somebody's consent, which it gets elsewhere: it closes its stream, and continues
 * after it was looked at twice.
 */
function consentingAgent({ streams = true, neverGoesOn = false } = {}): Promise<RawAgent> {
  const ids = { taskId: 't', contextId: 'c' };
  let looks = 0;
  const words = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: `Consent at ${page}.` }] };
  const waiting = { state: 'TASK_STATE_AUTH_REQUIRED', message: words };
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'Booked' }] }];
  return rawAgent((request) => {
    const { path, body, response, url } = request;
    if (path.startsWith('/.well-known')) {
      return sendJson(response, rawCard(url, { capabilities: { streaming: streams } }));
    }
    const stream = (events: readonly object[]): void => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const event of events) {
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result: event })}\n\n`,
        );
      }
      response.end();
    };
    const task = (status: object, more: object = {}) => ({
      id: 't',
      contextId: 'c',
      status,
      ...more,
    });
    const done = { state: 'TASK_STATE_COMPLETED' };
    if (body.method === 'SendStreamingMessage') {
      return stream([
        { task: task({ state: 'TASK_STATE_WORKING' }) },
        { statusUpdate: { ...ids, status: waiting } },
      ]);
    }
    if (body.method === 'SubscribeToTask') {
      if (looks < 3) return stream([{ task: task(waiting) }]);
      return stream([
        { task: task({ state: 'TASK_STATE_WORKING' }) },
        { artifactUpdate: { ...ids, artifact: artifacts[0] } },
        { statusUpdate: { ...ids, status: done } },
      ]);
    }
    if (body.method === 'SendMessage') return result(request, { task: task(waiting) });
    looks += 1;
    if (looks < 3 || neverGoesOn) return result(request, task(waiting));
    const isOver = !streams || looks > 3;
    return result(
      request,
      isOver ? task(done, { artifacts }) : task({ state: 'TASK_STATE_WORKING' }),
    );
  });
}

const quick = ['--poll-interval', '50ms'];

test(
  'AUTH_011: the wait ends, and says where to authorize and how to continue',
  patient,
  async () => {
    await using agent = await consentingAgent();
    const { code, out, err } = await legate(['send', '-a', agent.url, 'book']);
    expect(code).toBe(0);
    expect(fieldsOf(out)).toMatchObject({
      Task: 't',
      State: 'TASK_STATE_AUTH_REQUIRED',
      Authorize: page,
      Follow: `legate get -a ${agent.url} --wait --await-auth t`,
      Resume: `legate send -a ${agent.url} --task-id t "your reply"`,
    });
    expect(err).toContain('TASK_STATE_AUTH_REQUIRED');
    const json = await legate(['send', '-a', agent.url, '--json', 'book']);
    expect(JSON.parse(json.out)).toMatchObject({
      task: { status: { state: 'TASK_STATE_AUTH_REQUIRED' } },
    });
    expect(json.err).toContain(`authorize: ${page}`);
  },
);

test.each([true, false])(
  'AUTH_011: --await-auth continues once the agent does (streams: %s)',
  patient,
  async (streams) => {
    await using agent = await consentingAgent({ streams });
    const { code, out } = await legate(['send', '-a', agent.url, '--await-auth', ...quick, 'book']);
    expect(code).toBe(0);
    expect(fieldsOf(out)['State']).toBe('TASK_STATE_COMPLETED');
    expect(out).toContain('  Booked\n');
    // The message was sent once.
    const sent = agent.requests.filter(({ body }) => body.method?.startsWith('Send') === true);
    expect(sent).toHaveLength(1);
  },
);

test('AUTH_011: get --wait and subscribe --stream continue, too', patient, async () => {
  await using first = await consentingAgent();
  const got = await legate([
    'get',
    '-a',
    first.url,
    '--wait',
    '--await-auth',
    ...quick,
    '--json',
    't',
  ]);
  expect((JSON.parse(got.out) as Task).status.state).toBe('TASK_STATE_COMPLETED');
  await using second = await consentingAgent();
  const args = ['send', '-a', second.url, '--stream', '--json', '--await-auth', ...quick, 'book'];
  const lines = (await legate(args)).out.trimEnd().split('\n');
  expect(lines[1]).toContain('TASK_STATE_AUTH_REQUIRED');
  expect(lines.at(-1)).toContain('TASK_STATE_COMPLETED');
});

test('AUTH_011: --timeout and the environment count for it', patient, async () => {
  await using agent = await consentingAgent({ neverGoesOn: true });
  const env = { A2ACLI_AWAIT_AUTH: 'true' };
  const args = ['send', '-a', agent.url, '--json', '--timeout', '6s', ...quick, 'book'];
  const { code, out, err } = await legate(args, { env });
  expect(code).toBe(5);
  expect(JSON.parse(out)).toMatchObject({ error: { code: 'A2ACLI_ERR_TIMEOUT' } });
  expect(err).toContain('task t; to see it later');
});

test('AUTH_011: in a conversation /wait waits for it', patient, async () => {
  await using agent = await consentingAgent();
  const env = { A2ACLI_POLL_INTERVAL: '50ms' };
  const { code, out } = await legate(['shell', agent.url], { input: 'book\n/wait\n/state\n', env });
  expect(code).toBe(0);
  expect(out).toContain('Booked\n');
  expect(out).toContain('completed, task t');
});

test('URLs are found in text, url and data parts', () => {
  const placesOf = (parts: readonly Part[]) =>
    authorizationUrls({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { messageId: 'm', role: 'ROLE_AGENT', parts },
    });
  expect(placesOf([{ text: 'See (https://a.example/x).' }])).toEqual(['https://a.example/x']);
  expect(placesOf([{ data: { url: 'https://b.example' } }, { url: 'https://c.example' }])).toEqual([
    'https://b.example',
    'https://c.example',
  ]);
  expect(placesOf([{ text: 'javascript:alert(1) file:///etc' }])).toEqual([]);
  expect(placesOf([])).toEqual([]);
});
