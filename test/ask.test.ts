/** Reading an answer is one call, over every way to reach an agent. */
import { afterEach, expect, test, vi } from 'vitest';
import {
  agent,
  type Answer,
  artifact,
  chunk,
  completed,
  connect,
  data,
  failed,
  file,
  inputRequired,
  type InvocationResult,
  LegateError,
  llmAgent,
  message,
  remoteAgent,
  reply,
  Runner,
  serve,
  text,
  textOf,
  working,
} from '../src/index.ts';
import { scriptedModel } from '../src/models/index.ts';
import { silentLogger } from '../src/telemetry/index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
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

test('an answered question reads the same of a runner, a client and a remote agent', async () => {
  const booking = agent({ name: 'booking' }, async function* (turn) {
    const { isContinuation: append } = turn;
    yield chunk('found', append ? '\n\nBooked.' : 'Two trains.', { append });
    if (!turn.isContinuation) yield inputRequired([text('Which one?'), data({ choices: 2 })]);
  });
  const server = await serve(booking);
  const client = await connect(server.url);
  const runner = new Runner({ agent: booking });
  const remote = remoteAgent(server.url);
  open.push(client, server, runner);
  const read = ({ text: said, data: values, output }: Answer | InvocationResult) => ({
    text: said,
    values,
    output,
  });
  const conversation = async (asked: Answer | InvocationResult) => {
    if (!asked.isQuestion) throw new Error('no question');
    return [read(asked), read(await asked.answer('the first'))];
  };
  const expected = [
    { text: 'Which one?', values: [{ choices: 2 }], output: { choices: 2 } },
    { text: 'Two trains.\n\nBooked.', values: [], output: 'Two trains.\n\nBooked.' },
  ];
  expect(await conversation(await runner.run({ message: 'Bern' }))).toEqual(expected);
  expect(await conversation(await client.ask('Bern'))).toEqual(expected);
  expect(await conversation(await remote.ask('Bern'))).toEqual(expected);
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

test.each([
  ['context_length', 'CONTEXT_TOO_LONG'],
  ['model_rate_limited', 'RATE_LIMITED'],
  ['model_timeout', 'REQUEST_TIMEOUT'],
  ['inactivity', 'REQUEST_TIMEOUT'],
  ['model_unavailable', 'UNAVAILABLE'],
  ['interrupted', 'UNAVAILABLE'],
  ['invalid_output', 'INVALID_AGENT_RESPONSE'],
  ['not_trusted', 'PERMISSION_DENIED'],
  ['task_not_found', 'TASK_NOT_FOUND'],
  ['agent_error', 'INTERNAL'],
])('a task that failed with %s is an error with the code %s', async (errorType, code) => {
  const parts = [data({ state: 'failed', error_type: errorType, retry_after: 7 }), text('No')];
  const failing = agent({ name: 'failing' }, () => failed(parts));
  const server = await serve(failing);
  const client = await connect(server.url);
  open.push(client, server);
  const expected = { code, message: 'No', retryAfter: 7, metadata: { errorType } };
  await expect(client.ask('go')).rejects.toMatchObject(expected);
  await expect(Array.fromAsync(client.stream('go').text)).rejects.toMatchObject(expected);
  await expect(client.stream('go').result()).rejects.toMatchObject(expected);
});

test("a model's 429 reaches the caller with its code and delay", async () => {
  const busy = scriptedModel(() => {
    throw new LegateError('RATE_LIMITED', 'slow down', { retryAfter: 90 });
  });
  const server = await serve(llmAgent({ name: 'llm', model: busy, modelRetries: 0 }), {
    logger: silentLogger,
  });
  const client = await connect(server.url);
  open.push(client, server);
  await expect(client.ask('go')).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    retryAfter: 90,
    metadata: { errorType: 'model_rate_limited' },
  });
});

test('streamed text is the text of the answer, in its lines', async () => {
  const writer = agent({ name: 'writer' }, async function* () {
    yield artifact('first', { artifactId: 'one' });
    yield chunk('two', 'sec');
    yield chunk('two', 'ond', { append: true });
    return completed('Bye');
  });
  const server = await serve(writer);
  const client = await connect(server.url);
  open.push(client, server);
  const stream = client.stream('go');
  const deltas = await Array.fromAsync(stream.text);
  expect(deltas.join('')).toBe('first\nsecond\nBye');
  expect((await stream.result()).text).toBe('first\nsecond\nBye');
});

test('text that an agent replaced is a change of its own, and is told anew as text', async () => {
  const retrying = agent({ name: 'retrying' }, async function* () {
    yield artifact('Well.', { artifactId: 'before' });
    yield chunk('answer', 'Half');
    yield chunk('answer', ' an', { append: true });
    yield chunk('answer', 'A whole');
    yield chunk('answer', ' answer.', { append: true });
  });
  const server = await serve(retrying);
  const client = await connect(server.url);
  open.push(client, server);
  const stream = client.stream('go');
  let shown = '';
  for await (const { kind, text: changed } of stream.changes) {
    shown = kind === 'added' ? shown + changed : changed;
  }
  expect(shown).toBe('Well.\nA whole answer.');
  expect((await stream.result()).text).toBe(shown);
  const deltas = await Array.fromAsync(client.stream('go').text);
  expect(deltas.join('')).toMatch(/^Well\.\nHalf an\n\nWell\.\nA whole answer\.$/);
});

test('a stream that was left has no result, and says so', async () => {
  const { client } = await connected();
  const stream = client.stream('count');
  for await (const _ of stream.text) break;
  await expect(stream.result()).rejects.toThrow(/loop over the stream ended early/);
});

test('options name the conversation and the task that a text belongs to', async () => {
  const { client } = await connected();
  const first = await client.ask('report');
  const contextId = first.task?.contextId;
  expect((await client.ask('report', { contextId })).task?.contextId).toBe(contextId);
  const streamed = await client.stream('report', { contextId }).result();
  expect(streamed.task?.contextId).toBe(contextId);
  const asked = await client.ask('order', { contextId });
  expect(asked).toMatchObject({ isQuestion: true });
  const taskId = asked.task?.id;
  const sent = await client.sendMessage('small', { taskId });
  expect(sent).toMatchObject({ task: { id: taskId, contextId } });
  const other = { message: message('hi', { contextId: 'other' }) };
  await expect(client.ask(other, { contextId })).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    message: expect.stringContaining('message.contextId') as unknown,
  });
});

test('unknown options of a call are refused with a suggestion', async () => {
  const { client } = await connected();
  const misspelt = JSON.parse('{ "contextID": "c" }') as object;
  await expect(client.ask('hi', misspelt)).rejects.toThrow(/"contextID".*"contextId"/);
  expect(() => client.stream('hi', misspelt)).toThrow(/client\.stream.*"contextId"/);
  const elsewhere = JSON.parse('{ "threadId": "c" }') as object;
  await expect(client.sendMessage('hi', elsewhere)).rejects.toThrow(/did you mean "contextId"/);
  await expect(client.getTask('t', elsewhere)).rejects.toThrow(/client\.getTask.*"threadId"/);
});

/** The same agent, asked over each way there is. */
async function* everyWay() {
  const { client, server } = await connected();
  yield { ask: (said: string) => client.ask(said), stream: (said: string) => client.stream(said) };
  const remote = remoteAgent(server.url);
  open.push({ [Symbol.asyncDispose]: () => remote.close() });
  yield { ask: (said: string) => remote.ask(said), stream: (said: string) => remote.stream(said) };
  const runner = new Runner({ agent: clerk, logger: silentLogger });
  open.push(runner);
  yield {
    ask: (said: string) => runner.run({ message: said }),
    stream: (said: string) => runner.stream({ message: said }),
  };
}

test('clients, remote agents and runners answer in the same shape', async () => {
  for await (const { ask, stream } of everyWay()) {
    const done = { status: { state: 'TASK_STATE_COMPLETED' } };
    expect(await ask('report')).toMatchObject({ ...report, task: done });
    const streamed = stream('report');
    expect((await Array.fromAsync(streamed.text)).join('')).toBe('Here\nBye');
    expect(await streamed.result()).toMatchObject({ ...report, task: done });

    const question = { isQuestion: true, needsAuthorization: false, text: 'Which size?' };
    let answer = await ask('order');
    if (!answer.isQuestion) throw new Error('no question');
    expect(answer).toMatchObject(question);
    const { id } = answer.task;
    answer = await answer.answer('large');
    expect(answer).toMatchObject({ isQuestion: false, text: 'A large one.', task: { id } });

    const asking = stream('order');
    expect((await Array.fromAsync(asking.text)).join('')).toBe('Which size?');
    expect(await asking.result()).toMatchObject(question);

    const failing = { code: 'UNAVAILABLE', message: 'Out of paper' };
    await expect(Array.fromAsync(stream('fail').text)).rejects.toMatchObject(failing);
    await expect(stream('fail').result()).rejects.toMatchObject(failing);
  }
});

test('a runner gives the error of a run that failed, also of an event that the engine refused', async () => {
  await using told = new Runner({ agent: clerk, logger: silentLogger });
  expect(await told.run({ message: 'fail' })).toMatchObject({
    state: 'failed',
    error: { code: 'UNAVAILABLE', message: 'Out of paper' },
  });
  const broken = agent({ name: 'broken' }, () => chunk('none', 'x', { append: true }));
  await using runner = new Runner({ agent: broken, logger: silentLogger });
  expect(await runner.run({ message: 'go' })).toMatchObject({
    state: 'failed',
    error: {
      code: 'INVALID_AGENT_RESPONSE',
      message: expect.stringContaining('no artifact none to append to') as unknown,
    },
  });
});

const hidden = 'The agent failed while working on this task.';
test.each([
  [
    'on this machine',
    'test',
    undefined,
    'The agent failed while working on this task: out of paper',
  ],
  ['in production', 'production', undefined, hidden],
  ['behind a proxy', 'test', 'https://agents.example.com', hidden],
])('a caller of an agent that throws %s is told: %s', async (_where, environment, url, said) => {
  vi.stubEnv('NODE_ENV', environment);
  const broken = agent({ name: 'broken' }, () => {
    throw new Error('out of paper');
  });
  const options = { logger: silentLogger, ...(url !== undefined && { url }) };
  const server = await serve(broken, options);
  open.push(server);
  const client = await connect(`http://127.0.0.1:${server.port}`, {
    fetch: (input, init) =>
      fetch(
        new Request(input).url.replace(
          'https://agents.example.com',
          `http://127.0.0.1:${server.port}`,
        ),
        init,
      ),
  });
  await expect(client.ask('go')).rejects.toMatchObject({ code: 'INTERNAL', message: said });
});
