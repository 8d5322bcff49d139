import { afterAll, beforeAll, expect, test } from 'vitest';
import { greenhouseFolder } from '../../test/support/greenhouse.ts';
import { serveAssistant } from '../assistant/index.ts';
import { serve, type Serving } from '../http/index.ts';
import { fieldsOf, legate, start, patient } from './testing/legate-process.ts';
import { officialServer } from '../../test/support/official-server.ts';
import { rawAgent, rawCard, sendJson } from './testing/raw-agent.ts';
import { triedAgent } from './testing/tried-agent.ts';

let server: Serving;
beforeAll(async () => {
  server = await serve(triedAgent);
});
afterAll(() => server.close());

const shell = (input: string, ...args: readonly string[]) =>
  legate(['shell', server.url, ...args], { input });

test(
  'CHAT_001: a line is a message; an answer continues the task that asked',
  patient,
  async () => {
    const { code, out, err } = await shell('chunks\nask\nthe red one\n/stop\nnever read\n');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe('one two\nWhich one?\nYou chose the red one.\n');
    const chat = await legate(['chat', server.url], { input: 'chunks\n' });
    expect(chat.out).toBe('one two\n');
  },
);

test(
  'CHAT_001: the context is carried from turn to turn, and can be resumed',
  patient,
  async () => {
    const { out } = await shell('ask\n/state\n');
    const [, task, context = ''] = /input required, task (\S+), context (\S+)/.exec(out) ?? [];
    const again = await shell('/history\nthe blue one\n/history\n', '--context-id', context);
    expect(again.out).toBe(
      'you: ask\nagent: Which one?\nYou chose the blue one.\n' +
        'you: ask\nagent: Which one?\nyou: the blue one\nagent: You chose the blue one.\n',
    );
    const { State } = fieldsOf((await legate(['get', server.url, task ?? ''])).out);
    expect(State).toBe('TASK_STATE_COMPLETED');
  },
);

test('a new conversation has another context', patient, async () => {
  const { out } = await shell('chunks\n/state\n/restart\n/history\nchunks\n/state\n');
  const contexts = [...out.matchAll(/context (\S+)/g)].map(([, id]) => id);
  expect(new Set(contexts).size).toBe(2);
});

test('files, data and controls are shown as text', patient, async () => {
  const { out } = await shell('files\ncontrols\n');
  expect(out).toContain('total: 3\n[../a.bin, image/png, 4 bytes]\n');
  expect(out).toContain('red [31mm end\n');
});

test(
  'an assistant is read as text, and its buttons are taken by their numbers',
  patient,
  async () => {
    const { out } = await shell('assistant\n2\n');
    expect(out).toBe(
      'Rent -780\nSalary 2450\nWhat next?\n  1) Send money\n  2) Show my balance\nYou chose Show my balance.\n',
    );
  },
);

test('an assistant welcomes the user, once for each conversation', patient, async () => {
  await using folder = await greenhouseFolder({
    'endpoints.yml': 'a2a_server: {description: Waters plants.}\nstore: {type: memory}\n',
  });
  await using assistant = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
    port: 0,
  });
  const input = 'water the Monstera\n/history\n/restart\n';
  const { code, out } = await legate(['shell', assistant.url], { input });
  expect(code).toBe(0);
  expect(out).toMatch(/^Hi! I can help you with watering, /);
  expect(out.match(/^Hi!/gm)).toHaveLength(2);
  expect(out).toContain('you: water the Monstera\nagent: How many litres?\n');
  expect(out).not.toContain('session_start');
});

test('pieces of an answer show up as they come', patient, async () => {
  let finish = (): void => undefined;
  await using agent = await rawAgent(({ path, body, response, url }) => {
    if (path.startsWith('/.well-known')) return sendJson(response, rawCard(url));
    const at = { taskId: 't', contextId: 'c' };
    const send = (result: object) =>
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result })}\n\n`);
    const chunk = (text: string, append: boolean) =>
      send({ artifactUpdate: { ...at, artifact: { artifactId: 'a', parts: [{ text }] }, append } });
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    send({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } });
    chunk('first ', false);
    finish = () => {
      chunk('second', true);
      send({ statusUpdate: { ...at, status: { state: 'TASK_STATE_COMPLETED' } } });
      response.end();
    };
    return undefined;
  });
  const running = start(['shell', agent.url], { input: 'go\n' });
  await expect.poll(() => running.out, { timeout: 60_000 }).toBe('first ');
  finish();
  expect(await running.ended).toMatchObject({ code: 0, out: 'first second\n' });
});

test(
  'an agent that fails or refuses says why; an error does not end the conversation',
  patient,
  async () => {
    const { code, out } = await shell('fail\nrefuse\nchunks\n');
    expect({ code, out }).toEqual({ code: 0, out: 'It broke\nNot that\none two\n' });
    const wrong = await shell('/file /no/such/file\nchunks\n');
    expect(wrong).toMatchObject({ code: 1, out: 'one two\n' });
    expect(wrong.err).toContain('there is no file /no/such/file');
  },
);

test(
  'an agent of 0.3 and a server of the official SDK are talked to, as well',
  patient,
  async () => {
    const old = { url: server.url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' };
    await using agent = await rawAgent(({ response, url }) =>
      sendJson(response, rawCard(url, { supportedInterfaces: [old] })),
    );
    const spoken = await legate(['shell', agent.url], { input: 'chunks\nask\nred\n' });
    expect(spoken.out).toBe('one two\nWhich one?\nYou chose red.\n');
    await using official = await officialServer();
    const answered = await legate(['shell', official.url], { input: 'count\nreply\n' });
    expect(answered.out).toBe('one two\nDone\nPlainly said\n');
  },
);
