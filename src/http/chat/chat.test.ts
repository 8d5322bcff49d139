import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agent,
  chunk,
  completed,
  failed,
  inputRequired,
  textOf,
  working,
} from '../../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import { artifact } from '../../protocol/index.ts';
import { serve, type ServeOptions } from '../index.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A chat as `useChat` has it: the AI SDK's own transport, and its own reader of the stream. */
async function chatWith(served: Agent, options: ServeOptions = {}) {
  const server = await serve(served, { chat: true, ...options });
  cleanups.push(() => server.close());
  const transport = new DefaultChatTransport({ api: `${server.url}/chat` });
  const messages: UIMessage[] = [];
  const chatId = crypto.randomUUID();
  const read = async (stream: Parameters<typeof readUIMessageStream>[0]['stream']) => {
    let last: UIMessage | undefined;
    const problems: unknown[] = [];
    const onError = (problem: unknown): void => void problems.push(problem);
    for await (const message of readUIMessageStream({ stream, onError })) last = message;
    if (last !== undefined) messages.push(last);
    return { message: last, problems };
  };
  return {
    server,
    resume: () => transport.reconnectToStream({ chatId }),
    read,
    async say(...parts: UIMessage['parts']) {
      messages.push({ id: crypto.randomUUID(), role: 'user', parts });
      const stream = await transport.sendMessages({
        chatId,
        messages,
        trigger: 'submit-message',
        messageId: undefined,
        abortSignal: undefined,
      });
      return read(stream);
    },
  };
}

const text = (value: string) => ({ type: 'text', text: value }) as const;

test('useChat shows text as it comes, files, data and progress of an agent', async () => {
  const artist = agent({ name: 'artist', inputModes: ['*/*'] }, async function* (turn) {
    yield working('drawing');
    yield chunk('answer', 'You sent ');
    yield chunk('answer', textOf(turn.message), { append: true, last: true });
    yield artifact([{ data: { size: 3 } }, { raw: 'AAAA', mediaType: 'image/png' }]);
    yield artifact(turn.message.parts.filter(({ raw }) => raw !== undefined));
    yield completed('Done.');
  });
  const chat = await chatWith(artist);
  const file = {
    type: 'file',
    mediaType: 'text/plain',
    url: 'data:text/plain;base64,aGk=',
  } as const;
  const { message, problems } = await chat.say(text('a line'), file);
  expect(problems).toEqual([]);
  expect(message).toMatchObject({
    role: 'assistant',
    metadata: { state: 'TASK_STATE_COMPLETED', taskId: expect.any(String) },
    parts: [
      { type: 'text', text: 'You sent a line', state: 'done' },
      { type: 'data-artifact', data: { size: 3 } },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
      { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,aGk=' },
      { type: 'text', text: 'Done.', state: 'done' },
    ],
  });
});

test('a text that the agent replaced is marked, and the new one follows', async () => {
  const retrying = agent({ name: 'retrying' }, async function* () {
    yield chunk('answer', 'Half');
    yield chunk('answer', ' an', { append: true });
    yield chunk('answer', 'A whole answer.');
  });
  const chat = await chatWith(retrying);
  const { message } = await chat.say(text('go'));
  const parts = message?.parts.filter((part) => part.type === 'text') ?? [];
  const shown = parts.filter(
    ({ providerMetadata }) => !providerMetadata?.['legate']?.['isReplaced'],
  );
  expect(shown.map((part) => part.text)).toEqual(['A whole answer.']);
  expect(parts).toHaveLength(2);
});

test('a chat is one conversation, and a message after a question is its answer', async () => {
  const clerk = agent({ name: 'clerk' }, async function* (turn) {
    const count = Number((await turn.session.get('count')) ?? 0) + 1;
    turn.session.set('count', count);
    // As an LLM agent separates its answers in one artifact.
    if (turn.isContinuation) {
      const said = `\n\n${textOf(turn.message)} it is, ${count}`;
      return yield chunk('answer', said, { append: true });
    }
    yield chunk('answer', 'Hm.');
    return yield inputRequired('Which colour?');
  });
  const chat = await chatWith(clerk);
  const asked = await chat.say(text('Paint it'));
  expect(asked.message?.parts).toMatchObject([
    { type: 'text', text: 'Hm.' },
    { type: 'text', text: 'Which colour?' },
    { type: 'data-question', data: { state: 'TASK_STATE_INPUT_REQUIRED' } },
  ]);
  const answered = await chat.say(text('Red'));
  expect(answered.message?.parts).toMatchObject([{ type: 'text', text: 'Red it is, 2' }]);
  expect((await chat.say(text('Another'))).message?.metadata).toMatchObject({
    state: 'TASK_STATE_INPUT_REQUIRED',
  });
});

test('an agent that fails is an error of the chat, and so is a request that is refused', async () => {
  const sad = agent({ name: 'sad' }, async function* () {
    yield failed('no luck');
  });
  const chat = await chatWith(sad);
  const { problems, message } = await chat.say(text('go'));
  expect(problems).toMatchObject([{ message: 'no luck' }]);
  expect(message?.metadata).toMatchObject({ state: 'TASK_STATE_FAILED' });
  await expect(chat.say({ type: 'file', mediaType: 'image/png', url: 'data:,' })).rejects.toThrow(
    /does not accept image\/png/,
  );
  const bad = await fetch(`${chat.server.url}/chat`, { method: 'POST', body: '{"id":"x"}' });
  expect([bad.status, await bad.json()]).toMatchObject([400, { code: 'INVALID_PARAMS' }]);
  const foreign = await fetch(`${chat.server.url}/chat`, {
    method: 'POST',
    headers: { origin: 'https://evil.example' },
    body: '{}',
  });
  expect(foreign.status).toBe(403);
});

test('a page that was reloaded resumes the answer; without one there is nothing to resume', async () => {
  const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = agent({ name: 'slow' }, async function* () {
    yield chunk('answer', 'One, ');
    started.resolve();
    await released.promise;
    yield chunk('answer', 'two.', { append: true, last: true });
  });
  const chat = await chatWith(slow);
  expect(await chat.resume()).toBeNull();
  const first = chat.say(text('count'));
  await started.promise;
  const resumed = await chat.resume();
  if (resumed === null) throw new Error('nothing to resume');
  released.resolve();
  expect((await chat.read(resumed)).message?.parts).toMatchObject([{ text: 'One, two.' }]);
  expect((await first).message?.parts).toMatchObject([{ text: 'One, two.' }]);
});

test('the chat asks its callers for the credentials that A2A asks for', async () => {
  const auth = new Authenticator({
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 'secret', subject: 'ada' }] })],
  });
  const who = agent({ name: 'who' }, async function* (turn) {
    yield artifact(turn.caller.subject);
  });
  const chat = await chatWith(who, { auth });
  await expect(chat.say(text('hi'))).rejects.toThrow(/authentication/);
  const transport = new DefaultChatTransport({
    api: `${chat.server.url}/chat`,
    headers: { authorization: 'Bearer secret' },
  });
  const stream = await transport.sendMessages({
    chatId: 'c',
    messages: [{ id: 'm', role: 'user', parts: [text('hi')] }],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  });
  expect((await chat.read(stream)).message?.parts).toMatchObject([{ text: 'ada' }]);
});

test('a chat stream counts as open until it ends', async () => {
  const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = agent({ name: 'slow' }, async function* () {
    yield chunk('answer', 'One, ');
    started.resolve();
    await released.promise;
    yield chunk('answer', 'two.', { append: true, last: true });
  });
  const chat = await chatWith(slow, { callerLimits: { openStreams: 1 } });
  const first = chat.say(text('count'));
  await started.promise;
  await expect(chat.resume()).rejects.toThrow(/RATE_LIMITED/);
  released.resolve();
  expect((await first).message?.parts).toMatchObject([{ text: 'One, two.' }]);
});
