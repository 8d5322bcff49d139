import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { CallHandler } from '../index.ts';
import { openMemory, type Store } from '../../store/index.ts';
import { Gate, served, type Served, stateOf, wireTask } from './testing/served.ts';

const webhook = '/webhooks/rest/webhook';

function talk(house: Served, message: string, more: object = {}) {
  return house.api('POST', webhook, { sender: 'ada', message, ...more });
}

test('a conversation over the channel, with buttons', async () => {
  await using house = await served();
  expect((await talk(house, 'water the Monstera')).body).toEqual([
    { recipient_id: 'ada', text: 'How many litres?' },
  ]);
  expect((await talk(house, '5')).body).toEqual([
    { recipient_id: 'ada', text: 'Monstera got 5 litres.' },
    { recipient_id: 'ada', text: 'Is there anything else I can help you with?' },
  ]);
  expect((await talk(house, 'set the shade')).body).toEqual([
    {
      recipient_id: 'ada',
      text: 'How much shade?',
      buttons: [
        { title: 'Little', payload: '/SetSlots(shade=low)' },
        { title: 'Much', payload: '/SetSlots(shade=high)' },
      ],
    },
  ]);
  expect((await talk(house, '/SetSlots(shade=high)')).body).toMatchObject([
    { text: 'The shade is high.' },
    {},
  ]);
});

test('a conversation of the channel can continue over A2A, and the other way round', async () => {
  await using house = await served();
  await talk(house, 'water the Monstera');
  const task = await house.say('5', { contextId: 'ada' });
  expect(task.status.state).toBe('completed');
  const asked = await house.say('water the Ficus', { contextId: 'ada' });
  expect((await talk(house, '6')).body).toMatchObject([{ text: 'Ficus got 6 litres.' }, {}]);
  const { body } = await house.rpc('tasks/get', { id: asked.id });
  expect(stateOf(wireTask(body))).toMatchObject({ superseded_by: expect.any(String) });
});

test('the channel of the message and its metadata are noted', async () => {
  await using house = await served();
  await talk(house, 'water a plant', {
    input_channel: 'kiosk',
    metadata: { user_id: 'u-1', floor: 3 },
  });
  expect(await house.tracker('ada')).toMatchObject({
    user_id: 'u-1',
    latest_input_channel: 'kiosk',
    latest_message: { metadata: { floor: 3 } },
    slots: { session_started_metadata: { floor: 3 } },
  });
});

test('?stream=true: one object a line, pieces of messages first, none of them twice', async () => {
  await using house = await served();
  const response = await fetch(`${house.url}${webhook}?stream=true`, {
    method: 'POST',
    body: JSON.stringify({ sender: 'ada', message: 'report the growth' }),
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const lines = (await response.text()).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { recipient_id: 'ada', text: 'Everything' },
    { recipient_id: 'ada', text: ' grows' },
    { recipient_id: 'ada', text: '.' },
    { recipient_id: 'ada', text: 'Is there anything else I can help you with?' },
  ]);
});

test('?stream=true: whole messages come as they are said', async () => {
  await using house = await served({
    files: {
      'data/more.yml': `flows:
  careful_rain:
    description: Look carefully at the clouds.
    steps: [{action: utter_ask_plant}, {action: action_wait}]
`,
    },
  });
  const response = await fetch(`${house.url}${webhook}?stream=true`, {
    method: 'POST',
    body: JSON.stringify({ sender: 'ada', message: 'look carefully at the clouds' }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe('{"recipient_id":"ada","text":"Which plant?"}\n');
  house.gate.open();
  expect((await reader?.read())?.value).toContain('anything else');
  expect((await reader?.read())?.done).toBe(true);
});

test('?stream=true: what an agent says on the way comes before it is done', async () => {
  const gate = new Gate();
  const helper: CallHandler = {
    kind: 'agent',
    handles: () => true,
    async run(call) {
      await call.say({ text: 'Looking around.', metadata: { intermediate: true } });
      await gate.wait(call.signal);
      return { status: 'completed', messages: [{ text: 'Found.' }], events: [], metadata: {} };
    },
  };
  await using house = await served({
    build: { callHandlers: [helper] },
    files: {
      'data/more.yml':
        'flows: {ask_help: {description: Ask the gardener., steps: [{call: helper}]}}',
      'sub_agents/helper/config.yml': `
agent: {name: helper, protocol: a2a, description: Helps.}
configuration: {agent_card: "http://127.0.0.1:9", startup_check: lazy}
`,
    },
  });
  const response = await fetch(`${house.url}${webhook}?stream=true`, {
    method: 'POST',
    body: JSON.stringify({ sender: 'ada', message: 'ask the gardener' }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe('{"recipient_id":"ada","text":"Looking around."}\n');
  gate.open();
  let rest = '';
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) break;
    rest += piece.value;
  }
  expect(rest).toMatch(/^\{"recipient_id":"ada","text":"Found."\}\n/);
  expect(rest).not.toContain('Looking around');
});

test.each([
  ['no JSON', '{'],
  ['a list', '[]'],
  ['no message', '{"sender": "ada"}'],
  ['a sender that is not text', '{"sender": 5, "message": "hi"}'],
  ['metadata that is not an object', '{"sender": "ada", "message": "hi", "metadata": 5}'],
])('%s is answered 400', async (_, body) => {
  await using house = await served();
  for (const path of [webhook, `${webhook}?stream=true`]) {
    expect((await house.api('POST', path, body)).status).toBe(400);
  }
});

test('nlg.url: a server words what is said', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{"text": "Which one, dear?"}'));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoints = `store: {type: memory}\nnlg: {url: "http://127.0.0.1:${port}/nlg"}\n`;
  await using house = await served({ files: { 'endpoints.yml': endpoints } });
  expect((await talk(house, 'water a plant')).body).toEqual([
    { recipient_id: 'ada', text: 'Which one, dear?' },
  ]);
});

test('a failing action still answers 200 with what was said', async () => {
  await using house = await served();
  const { status, body } = await talk(house, 'start the pump');
  expect(status).toBe(200);
  expect(body).toMatchObject([{ text: 'Something went wrong on my side. Please try that again.' }]);
});

test('only POST is taken; without a model there is no answer', async () => {
  await using house = await served();
  expect((await house.api('GET', webhook)).status).toBe(405);
  expect((await house.api('GET', '/webhooks/rest/other')).status).toBe(404);
  await house.api('DELETE', '/model');
  expect((await talk(house, 'hi')).status).toBe(409);
  expect(
    (await house.api('POST', `${webhook}?stream=true`, { sender: 'a', message: 'b' })).status,
  ).toBe(409);
});

test('the channel can be left out by naming others', async () => {
  await using house = await served({ files: { 'credentials.yml': 'inspector:\n' } });
  expect((await talk(house, 'hi')).status).toBe(404);
});

test('a text with blank lines is several messages', async () => {
  await using house = await served({
    files: {
      'data/more.yml': `flows:
  show_rules:
    description: Show the rules of the house.
    steps: [{action: utter_rules}]
`,
      'domain/more.yml':
        'responses: {utter_rules: [{text: "One.\\n\\nTwo.", image: "http://x.example/a.png"}]}',
    },
  });
  expect((await talk(house, 'show the rules of the house')).body).toMatchObject([
    { text: 'One.' },
    { text: 'Two.' },
    { image: 'http://x.example/a.png' },
    {},
  ]);
});

/** A store that notes each transaction that writes. */
function counted(inner: Store): { readonly store: Store; readonly commits: string[] } {
  const commits: string[] = [];
  const watched = <T extends object>(target: T, names: readonly string[]): T =>
    new Proxy(target, {
      get(of, name) {
        const member = Reflect.get(of, name) as unknown;
        if (name === 'commands') return watched(inner.commands, ['queue', 'end', 'drop']);
        if (name === 'records') return watched(inner.records, ['write', 'increment']);
        if (typeof member !== 'function') return member;
        return (...input: readonly unknown[]) => {
          if (names.includes(String(name))) commits.push(String(name));
          return Reflect.apply(member, of, input) as unknown;
        };
      },
    });
  return { store: watched(inner, ['admit', 'append']), commits };
}

test('a message takes two commits, the first one of a conversation too', async () => {
  const { store, commits } = counted(openMemory());
  await using house = await served({ store });
  for (const text of ['water the Monstera', '5', 'report the growth']) {
    commits.length = 0;
    await talk(house, text);
    expect(commits).toEqual(['queue', 'end']);
  }
  expect((await store.list({ limit: 9 })).total).toBe(0);
  const timers = await store.records.list({ space: 'assistant-inactivity', limit: 9, now: 0 });
  expect(timers).toHaveLength(1);
});

test('messages that come at once are answered in their order', async () => {
  await using house = await served();
  const replies = await Promise.all(['water the Monstera', '5'].map((text) => talk(house, text)));
  expect(replies.map(({ body }) => body)).toMatchObject([
    [{ text: 'How many litres?' }],
    [{ text: 'Monstera got 5 litres.' }, {}],
  ]);
});
