/** Reading an answer is one call, over every way to reach an agent. */
import { afterEach, expect, test } from 'vitest';
import {
  type Answer,
  agent,
  connect,
  inputRequired,
  remoteAgent,
  Runner,
  serve,
} from '../src/index.ts';
import {
  artifact,
  completed,
  data,
  failed,
  file,
  reply,
  text,
  textOf,
  working,
} from '../src/index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

const clerk = agent({ name: 'clerk', replies: 'message' }, async function* (turn) {
  const asked = textOf(turn.message);
  if (turn.isContinuation) return `A ${asked} one.`;
  switch (asked) {
    case 'order':
      return inputRequired('Which size?');
    case 'report':
      yield artifact([
        text('Here'),
        data({ total: 3 }),
        file({ url: 'https://example.com/a.csv' }),
      ]);
      return completed('Bye');
    case 'fail':
      return failed('Out of paper', { metadata: { error_type: 'unavailable' } });
    case 'plain':
      return reply('Hello');
    default:
      yield working('One moment');
      for (const word of ['one', ' two', ' three']) yield word;
      return undefined;
  }
});

async function connected() {
  const server = await serve(clerk);
  const client = await connect(server.url);
  open.push(client, server);
  return { client, server };
}

const report = {
  isQuestion: false,
  text: 'Here\nBye',
  data: [{ total: 3 }],
  files: [{ url: 'https://example.com/a.csv' }],
  output: { total: 3 },
};

test('an answer has its text, data, files, output and task', async () => {
  const { client } = await connected();
  const answer = await client.ask('report');
  expect(answer).toMatchObject(report);
  expect(answer.task && textOf(answer.task)).toBe('Here\nBye');
});

test('a plain message is an answer without a task', async () => {
  const { client } = await connected();
  const answer = await client.ask('plain');
  expect(answer).toEqual({
    isQuestion: false,
    text: 'Hello',
    data: [],
    files: [],
    output: 'Hello',
  });
});

test('a question is answered in its task', async () => {
  const { client } = await connected();
  let answer: Answer = await client.ask('order');
  if (!answer.isQuestion) throw new Error('no question');
  expect(answer).toMatchObject({ text: 'Which size?', needsAuthorization: false });
  const { id } = answer.task;
  answer = await answer.answer('large');
  expect(answer).toMatchObject({ isQuestion: false, text: 'A large one.', task: { id } });
});

test('a task that fails is an error with the code that its agent names', async () => {
  const { client } = await connected();
  await expect(client.ask('fail')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'Out of paper',
    metadata: { state: 'failed', errorType: 'unavailable', taskId: expect.any(String) },
  });
});

test('text streams as it arrives, and the whole answer is there at the end', async () => {
  const { client } = await connected();
  const stream = client.stream('count');
  expect((await Array.fromAsync(stream.text)).join('|')).toMatch(/^one\|? two\|? three$/);
  expect(await stream.result()).toMatchObject({ text: 'one two three', isQuestion: false });
  const failing = client.stream('fail');
  await expect(failing.result()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await client.stream('plain').result()).toMatchObject({ text: 'Hello' });
  expect(await client.stream('order').result()).toMatchObject({ isQuestion: true });
});

test('runners and remote agents answer in the same shape', async () => {
  const { server } = await connected();
  const { isQuestion: _, ...content } = report;
  await using runner = new Runner({ agent: clerk });
  expect(await runner.run({ message: 'report' })).toMatchObject(content);
  const remote = remoteAgent(server.url);
  open.push({ [Symbol.asyncDispose]: () => remote.close() });
  expect(await remote.ask('report')).toMatchObject(report);
});
