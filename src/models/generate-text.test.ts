import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { generateText } from './generate-text.ts';
import { scriptedModel } from './scripted-model.ts';
import type { OnText } from './stream-text.ts';

/** Sleeps at once and remembers for how long. */
function fakeSleep(): { waits: number[]; sleep: (milliseconds: number) => Promise<void> } {
  const waits: number[] = [];
  return {
    waits,
    async sleep(milliseconds) {
      waits.push(milliseconds);
    },
  };
}

test('gives the text without thoughts, and the usage', async () => {
  const model = scriptedModel([
    { reasoning: 'I think', text: '<think>still</think>hello', usage: { input: 7, output: 3 } },
  ]);
  const answer = await generateText(model, { prompt: 'hi', system: 'be kind' });
  expect(answer).toMatchObject({
    text: 'hello',
    finishReason: 'stop',
    usage: { input: 7, output: 3 },
    attempts: 1,
  });
  expect(answer.content.some((part) => part.type === 'reasoning')).toBe(false);
  expect(model.requests[0]?.messages).toEqual([
    { role: 'system', text: 'be kind' },
    { role: 'user', text: 'hi' },
  ]);
});

test('retries a busy service with growing waits', async () => {
  const busy = { error: { status: 503 } };
  const { waits, sleep } = fakeSleep();
  const model = scriptedModel([busy, busy, 'done']);
  const answer = await generateText(model, { prompt: 'x', sleep, random: () => 0.5, now: () => 0 });
  expect(answer).toMatchObject({ text: 'done', attempts: 3 });
  expect(waits).toEqual([188, 375]);
});

test.each([
  ['seconds', { 'retry-after': '3' }, 3_000],
  ['a date', { 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 10_000],
  ['milliseconds', { 'retry-after-ms': '42', 'retry-after': '9' }, 42],
])('waits as long as Retry-After says in %s', async (_name, headers, expected) => {
  const { waits, sleep } = fakeSleep();
  const model = scriptedModel([{ error: { status: 429, headers } }, 'done']);
  await generateText(model, { prompt: 'x', sleep, now: () => 0 });
  expect(waits).toEqual([expected]);
});

test('a wait past the time budget fails at once and tells when to come back', async () => {
  const { waits, sleep } = fakeSleep();
  const model = scriptedModel([{ error: { status: 429, headers: { 'retry-after': '60' } } }, 'x']);
  const call = generateText(model, { prompt: 'x', sleep, timeoutMs: 5_000 });
  await expect(call).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfter: 60 });
  expect(waits).toEqual([]);
});

test('does not retry what cannot get better', async () => {
  const { waits, sleep } = fakeSleep();
  const model = scriptedModel([{ error: { status: 401, message: 'wrong: sk-abcdefghijkl' } }]);
  const error = await generateText(model, { prompt: 'x', sleep }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LegateError);
  expect((error as LegateError).message).toBe(
    'model scripted of scripted answered 401: wrong: sk-abc...; check its API key',
  );
  expect(waits).toEqual([]);
});

test('retries a connection that breaks during an answer', async () => {
  const { waits, sleep } = fakeSleep();
  const whole = scriptedModel(['done']);
  let breaks = 1;
  const breaking = {
    ...whole,
    doGenerate: (call: Parameters<typeof whole.doGenerate>[0]) => {
      breaks -= 1;
      return breaks < 0 ? whole.doGenerate(call) : Promise.reject(new TypeError('terminated'));
    },
  };
  expect(await generateText(breaking, { prompt: 'x', sleep })).toMatchObject({ text: 'done' });
  expect(waits).toHaveLength(1);
});

test('gives up after the retries', async () => {
  const { sleep } = fakeSleep();
  const model = scriptedModel(() => ({ error: { status: 500 } }));
  await expect(generateText(model, { prompt: 'x', sleep, retries: 1 })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  expect(model.requests).toHaveLength(2);
});

test('a silent model ends with REQUEST_TIMEOUT, even if it ignores its signal', async () => {
  const model = scriptedModel([{ hang: true }]);
  await expect(generateText(model, { prompt: 'x', timeoutMs: 5 })).rejects.toMatchObject({
    code: 'REQUEST_TIMEOUT',
  });
  const deaf = { ...model, doGenerate: () => new Promise<never>(() => {}) };
  await expect(generateText(deaf, { prompt: 'x', timeoutMs: 5 })).rejects.toMatchObject({
    code: 'REQUEST_TIMEOUT',
  });
});

test("rejects with the caller's reason when aborted", async () => {
  const controller = new AbortController();
  const reason = new Error('the user left');
  const model = scriptedModel([{ hang: true }]);
  const call = generateText(model, { prompt: 'x', signal: controller.signal });
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
});

test('an abort that comes while the model is called, before it answers, is not missed', async () => {
  const controller = new AbortController();
  const reason = new Error('the user left');
  const deaf = {
    ...scriptedModel([]),
    doGenerate: () => {
      controller.abort(reason);
      return new Promise<never>(() => {});
    },
  };
  const { signal } = controller;
  await expect(generateText(deaf, { prompt: 'x', signal })).rejects.toBe(reason);
  await expect(generateText(deaf, { prompt: 'x', signal })).rejects.toBe(reason);
});

test('an abort during a wait ends the wait', async () => {
  const controller = new AbortController();
  const model = scriptedModel([{ error: { status: 503, headers: { 'retry-after': '20' } } }, 'x']);
  const call = generateText(model, { prompt: 'x', signal: controller.signal });
  await expect.poll(() => model.requests.length).toBe(1);
  controller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
});

test('tool calls come with their input', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'add', input: { a: 1 } }] }]);
  const answer = await generateText(model, { prompt: 'x' });
  expect(answer.finishReason).toBe('tool-calls');
  expect(answer.toolCalls).toMatchObject([{ toolName: 'add', input: '{"a":1}' }]);
});

test('the text that was streamed is the text of the answer: neither starts or ends with space', async () => {
  const model = scriptedModel([
    { text: '\n Let me  look. \n', toolCalls: [{ name: 'look', input: {} }] },
  ]);
  let streamed = '';
  const { text } = await generateText(model, {
    prompt: 'x',
    onText: (piece) => {
      streamed += piece;
    },
  });
  expect(streamed).toBe('Let me  look.');
  expect(text).toBe(streamed);
});

test.each<[string, OnText]>([
  [
    'throws',
    () => {
      throw new LegateError('UNAVAILABLE', 'the consumer failed');
    },
  ],
  ['rejects', () => Promise.reject(new LegateError('UNAVAILABLE', 'the consumer failed'))],
])('a consumer that %s ends the call with its error, without a retry', async (_how, onText) => {
  let text = '';
  const answer = scriptedModel(() => 'hello');
  // The stream falls silent after its first text: the error must not wait for another part.
  const model = {
    ...answer,
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          controller.enqueue({ type: 'text-delta', id: '1', delta: 'hello' });
        },
      }),
    }),
  };
  let calls = 0;
  const call = generateText(model, {
    prompt: 'x',
    onText: (piece, isStart) => {
      calls += 1;
      text += piece;
      return onText(piece, isStart);
    },
  });
  await expect(call).rejects.toThrow('the consumer failed');
  expect({ calls, text }).toEqual({ calls: 1, text: 'hello' });
  const last = generateText(answer, { prompt: 'x', onText });
  await expect(last).rejects.toThrow('the consumer failed');
  expect(answer.requests).toHaveLength(1);
});
