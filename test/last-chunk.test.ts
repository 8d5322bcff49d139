/** A stream of text says where it ends: over every binding, in both versions, and to other clients. */
import { AgentCard, SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  agent,
  chunk,
  connect,
  inputRequired,
  llmAgent,
  remoteAgent,
  serve,
  type Serving,
  textOf,
} from '../src/index.ts';
import { grpcBinding, grpcChannel } from '../src/grpc/index.ts';
import { scriptedModel } from '../src/models/index.ts';
import {
  type Artifact,
  data,
  isJsonObject,
  type JsonObject,
  message,
  type StreamResponse as Event,
  TaskFold,
} from '../src/protocol/index.ts';
import { silentLogger } from '../src/telemetry/index.ts';

/** Lets what was said be written before more comes. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

const tokens = ['one', ' two', ' three'];
const writer = agent({ name: 'writer' }, async function* (turn) {
  const asked = textOf(turn.message);
  if (turn.isContinuation) return yield ' and more';
  if (asked === 'at once') return 'one two three';
  for (const token of tokens) {
    yield token;
    if (asked !== 'fast') await pause();
  }
  if (asked === 'data') {
    yield chunk('rows', data({ row: 1 }));
    await pause();
  }
  if (asked === 'fail') throw new Error('out of paper');
  if (asked === 'ask') return yield inputRequired('More?');
  return undefined;
});

const model = scriptedModel(() => 'one two three');
const poet = llmAgent({ name: 'poet', model });

let servers: Record<'writer' | 'poet', Serving>;
beforeAll(async () => {
  const options = { channels: [grpcChannel()], chat: true, logger: silentLogger };
  servers = { writer: await serve(writer, options), poet: await serve(poet, options) };
});
afterAll(async () => {
  for (const server of Object.values(servers)) await server.close();
});

type Update = Extract<Event, { artifactUpdate: unknown }>['artifactUpdate'];

function updatesOf(events: readonly Event[]): readonly Update[] {
  return events.flatMap((event) => ('artifactUpdate' in event ? [event.artifactUpdate] : []));
}

/** Completed once, by its last event, and no event is without parts. */
function expectComplete(updates: readonly Update[]): void {
  const ends = updates.map(({ lastChunk }) => lastChunk === true);
  expect(ends.lastIndexOf(true)).toBe(ends.length - 1);
  expect(ends.filter(Boolean)).toHaveLength(1);
  expect(updates.every(({ artifact }) => artifact.parts.length > 0)).toBe(true);
  expect(updates.map(({ artifact }) => textOf(artifact)).join('')).toBe('one two three');
}

for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const) {
  for (const version of ['1.0', '0.3'] as const) {
    test(`streamed text ends with lastChunk (${binding}, ${version})`, async () => {
      for (const server of Object.values(servers)) {
        await using client = await connect(server.url, {
          binding,
          version,
          bindings: [grpcBinding()],
        });
        for (const asked of ['slow', 'fast', 'at once']) {
          const events: Event[] = [];
          let fold: TaskFold | undefined;
          for await (const { response } of client.sendStreamingMessage(asked)) {
            events.push(response);
            if ('task' in response) fold ??= new TaskFold(response.task);
            else fold?.apply(response);
          }
          expectComplete(updatesOf(events));
          // The end adds no part to what is kept.
          const parts = [{ text: 'one two three' }];
          expect(fold?.toTask().artifacts).toMatchObject([{ parts }]);
          const { id = '' } = fold ?? {};
          expect((await client.getTask(id)).artifacts).toMatchObject([{ parts }]);
        }
      }
    });
  }
}

async function updatesFor(asked: string): Promise<readonly Update[]> {
  await using client = await connect(servers.writer.url);
  const events: Event[] = [];
  for await (const { response } of client.sendStreamingMessage(asked)) events.push(response);
  return updatesOf(events);
}

test('a text whose end is known in time is completed by its last piece', async () => {
  for (const asked of ['fast', 'at once']) {
    expect((await updatesFor(asked)).map(({ artifact }) => textOf(artifact))).not.toContain('');
  }
});

test('a text continues after a question, and a failed one has no end', async () => {
  await using client = await connect(servers.writer.url);
  const asked = await client.ask('ask');
  expect((await updatesFor('ask')).some(({ lastChunk }) => lastChunk)).toBe(false);
  expect((await updatesFor('fail')).some(({ lastChunk }) => lastChunk)).toBe(false);
  if (!asked.isQuestion) throw new Error('no question');
  expect(await asked.answer('yes')).toMatchObject({ isQuestion: false });
});

test('data gets no piece of text to end it', async () => {
  const rows = (await updatesFor('data')).filter(({ artifact }) => artifact.artifactId === 'rows');
  expect(rows.map(({ artifact }) => artifact.parts)).toEqual([[{ data: { row: 1 } }]]);
});

test('no piece waits for the next one', async () => {
  const gates = tokens.map(() => Promise.withResolvers<void>());
  const gated = agent({ name: 'gated' }, async function* () {
    for (const [index, token] of tokens.entries()) {
      yield token;
      await gates[index]?.promise;
    }
  });
  await using server = await serve(gated);
  await using client = await connect(server.url);
  const read: string[] = [];
  for await (const delta of client.stream('go').text) {
    read.push(delta);
    gates[read.length - 1]?.resolve();
  }
  expect(read).toEqual(tokens);
});

test('the official client folds it into the text, and no event lacks parts', async () => {
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory()] });
  const card = servers.writer.router.cards.current;
  const client = await factory.createFromAgentCard(AgentCard.fromJSON(card));
  const request = SendMessageRequest.fromJSON({ message: message('slow') });
  const updates: JsonObject[] = [];
  for await (const event of client.sendMessageStream(request)) {
    const json: unknown = StreamResponse.toJSON(event);
    const update = isJsonObject(json) ? json['artifactUpdate'] : undefined;
    if (isJsonObject(update)) updates.push(update);
  }
  const artifacts = updates.map(({ artifact }) => artifact as unknown as Artifact);
  expect(artifacts.map((each) => textOf(each)).join('')).toBe('one two three');
  expect(artifacts.every(({ parts }) => parts.length > 0)).toBe(true);
  expect(updates.at(-1)).toMatchObject({ lastChunk: true });
});

test('useChat shows one text that is done', async () => {
  for (const server of Object.values(servers)) {
    const transport = new DefaultChatTransport({ api: `${server.url}/chat` });
    const stream = await transport.sendMessages({
      chatId: crypto.randomUUID(),
      messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'slow' }] }],
      trigger: 'submit-message',
      messageId: undefined,
      abortSignal: undefined,
    });
    let last: UIMessage | undefined;
    for await (const shown of readUIMessageStream({ stream })) last = shown;
    const texts = last?.parts.filter(({ type }) => type === 'text');
    expect(texts).toMatchObject([{ text: 'one two three', state: 'done' }]);
  }
});

test('an agent that passed on what another streamed may continue under the same id', async () => {
  const remote = remoteAgent(servers.writer.url);
  const editor = agent({ name: 'editor' }, async function* (turn) {
    for await (const event of remote.take(turn)) {
      if (!('kind' in event) || event.kind === 'chunk') yield event;
    }
    yield chunk('answer', ', edited', { append: true });
  });
  await using server = await serve(editor, { logger: silentLogger });
  await using client = await connect(server.url);
  for (const asked of ['slow', 'at once']) {
    expect(await client.ask(asked)).toMatchObject({ text: 'one two three, edited' });
  }
  await remote.close();
});
