import { expect, test } from 'vitest';
import { noPeers, type Turn, type TurnEvent } from '../../src/agents/index.ts';
import { type Message, message } from '../../src/protocol/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { conformanceAgent, type ConformanceAgentOptions } from './agent.ts';
import type { Times } from './behaviours.ts';

const noTime: Times = { resubscribe: 0, delayed: 0, longRunning: 0, cancel: 0 };

interface Asked {
  messageId?: string;
  text?: string;
  history?: readonly Message[];
  signal?: AbortSignal;
  options?: ConformanceAgentOptions;
}

/** The events of one turn, without the artifacts' random ids. */
async function events(asked: Asked): Promise<readonly unknown[]> {
  const collected: unknown[] = [];
  for await (const event of take(asked)) collected.push(withoutIds(event));
  return collected;
}

function take(asked: Asked): AsyncIterable<TurnEvent> {
  const { messageId = 'm-1', text = 'Hello', history, options = { times: noTime } } = asked;
  return conformanceAgent(options).take(turn(message(text, { messageId }), history, asked.signal));
}

function turn(incoming: Message, history: readonly Message[] = [], signal?: AbortSignal): Turn {
  return {
    message: incoming,
    taskId: 'task',
    contextId: 'context',
    caller: { tenant: '', subject: '', method: 'anonymous' },
    metadata: {},
    acceptedOutputModes: [],
    extensions: [],
    isContinuation: history.length > 0,
    attempt: 1,
    history: async () => history,
    state: { load: async () => undefined, log: async () => [] },
    peers: noPeers,
    session: { get: async () => undefined, set() {}, delete() {}, entries: async () => new Map() },
    signal: signal ?? new AbortController().signal,
    clock: { now: () => 0 },
    logger: silentLogger,
  };
}

function withoutIds(event: TurnEvent): unknown {
  if ('artifactId' in event) return { parts: event.parts };
  if (event.kind !== 'chunk') return event;
  const { artifact, ...rest } = event;
  return { ...rest, parts: artifact.parts };
}

const working = { kind: 'working' };
const completed = { kind: 'completed' };
const says = (kind: string, words: string) => ({ kind, parts: [{ text: words }] });
const file = {
  raw: expect.any(String),
  filename: 'output.txt',
  mediaType: 'text/plain',
};

test.each<[string, readonly unknown[]]>([
  ['tck-complete-task', [says('completed', 'Hello from TCK')]],
  ['tck-artifact-text', [{ parts: [{ text: 'Generated text content' }] }, completed]],
  ['tck-artifact-file', [{ parts: [file] }, completed]],
  [
    'tck-artifact-file-url',
    [
      {
        parts: [
          {
            url: 'https://example.com/output.txt',
            filename: 'output.txt',
            mediaType: 'text/plain',
          },
        ],
      },
      completed,
    ],
  ],
  ['tck-artifact-data', [{ parts: [{ data: { key: 'value', count: 42 } }] }, completed]],
  ['tck-message-response', [says('message', 'Direct message response')]],
  ['tck-input-required', [says('input-required', 'More input, please.')]],
  ['tck-reject-task', [says('rejected', 'rejected')]],
  ['tck-stream-001', [working, { parts: [{ text: 'Stream hello from TCK' }] }, completed]],
  ['tck-stream-002', [completed]],
  ['tck-stream-003', [working, { parts: [{ text: 'Stream task lifecycle' }] }, completed]],
  ['tck-stream-ordering-001', [working, { parts: [{ text: 'Ordered output' }] }, completed]],
  [
    'tck-stream-artifact-text',
    [working, { parts: [{ text: 'Streamed text content' }] }, completed],
  ],
  ['tck-stream-artifact-file', [working, { parts: [file] }, completed]],
  [
    'tck-stream-artifact-chunked',
    [
      working,
      { kind: 'chunk', append: false, lastChunk: false, parts: [{ text: 'chunk-1 ' }] },
      { kind: 'chunk', append: true, lastChunk: true, parts: [{ text: 'chunk-2' }] },
      completed,
    ],
  ],
  ['test-resubscribe-message-id', [working, completed]],
  ['tck-delayed-complete', [working, says('completed', 'Done after delay')]],
  ['tck-auth-required', [says('auth-required', 'Sign in to go on.')]],
  [
    'tck-long-running',
    [working, { parts: [{ text: 'The result of long work' }] }, says('completed', 'Done at last')],
  ],
  ['tck-stream-basic', [working, { parts: [{ text: 'Streamed content' }] }, completed]],
  [
    'tck-stream-chunked',
    [
      working,
      { kind: 'chunk', append: false, lastChunk: false, parts: [{ text: 'first, ' }] },
      { kind: 'chunk', append: true, lastChunk: false, parts: [{ text: 'second, ' }] },
      { kind: 'chunk', append: true, lastChunk: true, parts: [{ text: 'third' }] },
      completed,
    ],
  ],
  ['tck-task-failure', [says('failed', 'The task failed, as it was told to.')]],
  ['tck-multi-turn', [says('input-required', 'Go on, or say "done".')]],
])('%s is obeyed when it begins the messageId or the first text', async (prefix, expected) => {
  expect(await events({ messageId: `${prefix}-5f2c` })).toEqual(expected);
  expect(await events({ text: `${prefix} please` })).toEqual(expected);
});

test('the chunks of one artifact share its id', async () => {
  const ids = new Set<string>();
  for await (const event of take({ messageId: 'tck-stream-chunked' })) {
    if ('kind' in event && event.kind === 'chunk') ids.add(event.artifact.artifactId);
  }
  expect(ids.size).toBe(1);
});

test('the messageId is heard before the text', async () => {
  expect(await events({ messageId: 'tck-stream-002-a', text: 'tck-reject-task' })).toEqual([
    completed,
  ]);
});

test('a message that names nothing completes its task', async () => {
  expect(await events({})).toEqual([says('completed', 'No behaviour is named m-1.')]);
});

test('a follow-up that names nothing completes an input-required task', async () => {
  const history = [message('first', { messageId: 'tck-input-required-1' })];
  expect(await events({ text: 'here you are', history })).toEqual([
    says('completed', 'No behaviour is named m-1.'),
  ]);
});

test('a conversation continues until the user says done', async () => {
  const history = [message('tck-multi-turn start'), message('Go on', { role: 'ROLE_AGENT' })];
  expect(await events({ text: 'here is more', history })).toEqual([
    says('input-required', 'Go on, or say "done".'),
  ]);
  expect(await events({ text: 'done', history })).toEqual([says('completed', 'That was all.')]);
});

test('tck-cancel works until it is cancelled', async () => {
  const controller = new AbortController();
  const turnEvents = take({
    messageId: 'tck-cancel',
    signal: controller.signal,
    options: { times: { cancel: 60_000 } },
  })[Symbol.asyncIterator]();
  expect(await turnEvents.next()).toEqual({ done: false, value: working });
  const next = turnEvents.next();
  controller.abort();
  await expect(next).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});

test('tck-cancel ends by itself when it is not cancelled', async () => {
  expect(await events({ messageId: 'tck-cancel' })).toEqual([
    working,
    says('failed', 'Nobody cancelled this task.'),
  ]);
});

test('0.3: a message that names nothing is answered and asked for more', async () => {
  expect(await events({ options: { profile: '0.3' } })).toEqual([
    says('input-required', 'Understood. What else?'),
  ]);
});

test('the agent declares that it may answer with a plain message', () => {
  expect(conformanceAgent().replies).toBe('message');
});
