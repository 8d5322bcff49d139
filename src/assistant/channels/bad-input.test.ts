import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../../test/support/greenhouse.ts';
import { loadProject } from '../index.ts';
import { formatProblem } from '../../config/index.ts';
import { ownerKey } from '../../store/index.ts';
import { serveAssistant } from './serve-assistant.ts';
import { served, stateOf, wordsOf } from './testing/served.ts';

/** All that is wrong with the greenhouse when these files are in it, without its folder. */
async function problemsWith(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  await using folder = await greenhouseFolder(files);
  const { problems } = await loadProject({ directory: folder.directory }, {});
  return problems.errors.map((problem) =>
    formatProblem(problem).replaceAll(`${folder.directory}/`, ''),
  );
}

test.each([
  ['an open bracket', { 'data/x.yml': 'flows: {a: [' }, /^data\/x\.yml:1:\d+: invalid YAML/],
  ['a tab', { 'data/x.yml': 'flows:\n\ta: 1' }, /^data\/x\.yml:2:\d+: invalid YAML/],
  ['an alias that eats itself', { 'domain.yml': 'a: &a [*a]' }, /^domain\.yml:1:\d+/],
  [
    'a bomb of aliases',
    {
      'domain.yml': `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${Array.from(
        { length: 9 },
        (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`,
      ).join('\n')}`,
    },
    /^domain\.yml/,
  ],
  ['flows that are not mapping', { 'data/x.yml': 'flows: 5' }, /must be a mapping/],
  ['a binary file', { 'data/x.yml': '\0\u0001\u0002' }, /^data\/x\.yml:1/],
])('%s is told with its place, and nothing is thrown', async (_, files, message) => {
  const problems = await problemsWith(files);
  expect(problems.join('\n')).toMatch(message);
});

test('unknown slots are told wherever they stand, with what was meant', async () => {
  const problems = await problemsWith({
    'data/x.yml': `flows:
  one:
    description: One thing.
    steps:
      - collect: plnat
      - set_slots: [litre: 5]
      - noop: true
        next:
          - if: slots.shad = "low"
            then: END
          - else: END
`,
  });
  const text = problems.join('\n');
  expect(text).toMatch(/x\.yml:5:\d+ flows\.one\.steps\[0\]\.collect: .*did you mean "plant"/);
  expect(text).toMatch(/x\.yml:6:\d+ flows\.one\.steps\[1\].*did you mean "litres"/);
  expect(text).toMatch(/x\.yml:9:\d+ .*did you mean "shade"/);
});

test('flows that link in a circle are told before they run', async () => {
  const circle = (from: string, to: string) =>
    `  ${from}: {description: Go from ${from}., steps: [{link: ${to}}]}\n`;
  const problems = await problemsWith({
    'data/x.yml': `flows:\n${circle('here', 'there')}${circle('there', 'here')}`,
  });
  expect(problems.join('\n')).toMatch(/here.*there/);
});

test('a circle that only shows when it runs is aborted with one message', async () => {
  await using house = await served({
    files: {
      'data/x.yml': `flows:
  go_round:
    description: Go round and round.
    steps:
      - id: again
        noop: true
        next:
          - if: slots.watered = 0
            then: again
          - else: END
`,
    },
  });
  const task = await house.say('go round and round', { contextId: 'c' });
  expect(task.status.state).toBe('failed');
  expect(wordsOf(task)).toHaveLength(1);
  expect((await house.say('report the growth', { contextId: 'c' })).status.state).toBe('completed');
});

test('a message of 10 MB is refused by its size; one just below it is too long to be read', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  const parts = (size: number) => [{ kind: 'text', text: 'x'.repeat(size) }];
  const message = (size: number) => ({
    kind: 'message',
    role: 'user',
    messageId: `m-${size}`,
    contextId: 'c',
    parts: parts(size),
  });
  const refused = await house.rpc('message/send', { message: message(10 * 1024 * 1024) });
  expect(refused.status).toBe(413);
  const rest = { sender: 'c', message: 'x'.repeat(10 * 1024 * 1024) };
  expect((await house.api('POST', '/webhooks/rest/webhook', rest)).status).toBe(413);
  const { body } = await house.rpc('message/send', { message: message(9 * 1024 * 1024) });
  const task = body['result'] as never;
  expect(wordsOf(task)[0]).toContain('at most 420 characters');
  expect(stateOf(task)).toMatchObject({ state: 'input_required', active_flow: 'water_plants' });
  const kept = await house.serving.router.store.loadContext(
    ownerKey({ agent: 'assistant', tenant: '', subject: '' }),
    'c',
  );
  expect(JSON.stringify(kept?.value?.value ?? '').length).toBeLessThan(100_000);
  expect((await house.say('5', { contextId: 'c' })).status.state).toBe('completed');
});

/** The greenhouse with an action server that does this. */
async function withActionServer(listener: RequestListener, more = '') {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const folder = await greenhouseFolder({
    'endpoints.yml': `
a2a_server: {description: Looks after a greenhouse.}
action_endpoint: {url: "http://127.0.0.1:${port}/webhook"${more}}
store: {type: memory}
`,
  });
  const serving = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
  });
  const talk = async (message: string): Promise<readonly string[]> => {
    const response = await fetch(`http://127.0.0.1:${serving.port}/webhooks/rest/webhook`, {
      method: 'POST',
      body: JSON.stringify({ sender: 'ada', message }),
    });
    return ((await response.json()) as { text: string }[]).map(({ text }) => text);
  };
  return {
    talk,
    async [Symbol.asyncDispose]() {
      await serving.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await folder[Symbol.asyncDispose]();
    },
  };
}

const apology = 'Something went wrong on my side. Please try that again.';

test.each<[string, RequestListener]>([
  ['no JSON', (_, response) => response.end('<html>')],
  ['a list', (_, response) => response.end('[]')],
  ['events that are none', (_, response) => response.end('{"events": [5]}')],
  ['nothing', (_, response) => response.end()],
  ['an error', (_, response) => response.writeHead(500).end('{}')],
  ['a redirect', (_, response) => response.writeHead(302, { location: 'http://[::1]/' }).end()],
  ['a broken connection', (request) => request.socket.destroy()],
  [
    'half an answer',
    (request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"events"');
      setImmediate(() => request.socket.destroy());
    },
  ],
  [
    'an answer without end',
    (request, response) => {
      const feed = (): void => {
        if (!response.destroyed) response.write('x'.repeat(1024 * 1024), feed);
      };
      request.on('error', () => undefined);
      feed();
    },
  ],
])(
  'an action server that answers %s costs one apology, and the talk goes on',
  async (_, listener) => {
    await using house = await withActionServer(listener);
    expect(await house.talk('report the growth')).toEqual([apology]);
    expect(await house.talk('water the Monstera')).toEqual(['How many litres?']);
  },
);

test('an action server that hangs costs its timeout and one apology', async () => {
  await using house = await withActionServer(() => undefined, ', timeout: 0.1');
  expect(await house.talk('report the growth')).toEqual([apology]);
  expect(await house.talk('water the Monstera')).toEqual(['How many litres?']);
});

test.each([
  ['NUL', 'a\u0000b'],
  ['a line break', 'a\nb'],
  ['half a surrogate pair', 'a\ud800b'],
  ['more than 256 characters', 'x'.repeat(257)],
])('a sender with %s is refused, as an id of A2A is', async (_, sender) => {
  await using house = await served();
  const path = '/webhooks/rest/webhook';
  expect((await house.api('POST', path, { sender, message: 'hello' })).status).toBe(400);
  const streamed = await house.api('POST', `${path}?stream=true`, { sender, message: 'hello' });
  expect(streamed.status).toBe(400);
});

test.each(['a%00b', 'a%0Ab', 'a%7F', 'x'.repeat(257)])(
  'a conversation %s is refused in every path, as an id of A2A is',
  async (id) => {
    await using house = await served();
    const statuses = [
      await house.api('GET', `/conversations/${id}/tracker`),
      await house.api('DELETE', `/conversations/${id}/tracker`),
      await house.api('POST', `/conversations/${id}/messages`, { text: 'hello' }),
      await house.api('POST', `/cancel_background_tasks/${id}`),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 400, 400]);
  },
);
