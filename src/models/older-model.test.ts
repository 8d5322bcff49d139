import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
} from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { generateText } from './generate-text.ts';
import { toLanguageModel } from './older-model.ts';

const calls: (LanguageModelV2CallOptions | LanguageModelV3CallOptions)[] = [];
const file = { type: 'file' as const, mediaType: 'image/png', data: 'AAAA' };
const call = { type: 'tool-call' as const, toolCallId: '1', toolName: 'look', input: '{}' };
const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10, cachedInputTokens: 2 };

const v2: LanguageModelV2 = {
  specificationVersion: 'v2',
  provider: 'old',
  modelId: 'older',
  supportedUrls: {},
  async doGenerate(options) {
    calls.push(options);
    const content = [{ type: 'text' as const, text: 'Hi' }, file, call];
    return { content, finishReason: 'unknown', usage, warnings: [] };
  },
  async doStream(options) {
    calls.push(options);
    const stream = new ReadableStream<LanguageModelV2StreamPart>({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] });
        controller.enqueue({ type: 'text-delta', id: 't', delta: 'Hi' });
        controller.enqueue(call);
        controller.enqueue({ type: 'finish', finishReason: 'tool-calls', usage });
        controller.close();
      },
    });
    return { stream };
  },
};

const v3: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'new',
  modelId: 'newer',
  supportedUrls: {},
  async doGenerate(options) {
    calls.push(options);
    const inputTokens = { total: 7, noCache: 5, cacheRead: 2, cacheWrite: 0 };
    const outputTokens = { total: 3, text: 3, reasoning: 0 };
    return {
      content: [{ type: 'text', text: 'Hi' }, file, call],
      finishReason: { unified: 'stop', raw: 'end' },
      usage: { inputTokens, outputTokens },
      warnings: [],
    };
  },
  doStream: () => Promise.reject(new Error('not asked')),
};

test.each([
  ['v2', v2, 'other'],
  ['v3', v3, 'stop'],
])(
  'a model of specification %s answers as a new one does',
  async (_version, model, finishReason) => {
    const answer = await generateText(toLanguageModel(model), { prompt: 'Hello' });
    expect(answer).toMatchObject({
      text: 'Hi',
      finishReason,
      usage: { input: 7, output: 3, cachedInput: 2 },
      toolCalls: [{ toolName: 'look' }],
    });
    expect(answer.content).toContainEqual({
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: 'AAAA' },
    });
  },
);

test('streams of specification v2 are read', async () => {
  let shown = '';
  const onText = (text: string) => void (shown += text);
  const answer = await generateText(toLanguageModel(v2), { prompt: 'Hello', onText });
  expect([shown, answer.finishReason, answer.usage.input]).toEqual(['Hi', 'tool-calls', 7]);
});

test('a stream of specification v2 that ends as `unknown` was cut off, and is asked again', async () => {
  let attempts = 0;
  const broken: LanguageModelV2 = {
    ...v2,
    async doStream() {
      attempts += 1;
      const isLast = attempts === 2;
      const stream = new ReadableStream<LanguageModelV2StreamPart>({
        start(controller) {
          controller.enqueue({ type: 'text-delta', id: 't', delta: isLast ? 'Hello' : 'He' });
          // What adapters of AI SDK 5 flush when the provider closed the stream without a finish.
          const finishReason = isLast ? 'stop' : 'unknown';
          controller.enqueue({ type: 'finish', finishReason, usage });
          controller.close();
        },
      });
      return { stream };
    },
  };
  let shown = '';
  const onText = (text: string, isStart: boolean) => void (shown = isStart ? text : shown + text);
  const answer = await generateText(toLanguageModel(broken), {
    prompt: 'Hello',
    onText,
    sleep: async () => undefined,
  });
  expect([answer.text, shown, answer.attempts]).toEqual(['Hello', 'Hello', 2]);
});

test('files and results of tools are sent in the older form', async () => {
  calls.length = 0;
  const image = { type: 'data' as const, data: 'AAAA' };
  const output = { type: 'execution-denied' as const, reason: 'no' };
  await generateText(toLanguageModel(v2), {
    prompt: [
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: image }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', toolName: 't', output }] },
    ],
    reasoning: 'low',
  });
  expect(calls[0]).not.toHaveProperty('reasoning');
  expect(calls[0]?.prompt).toMatchObject([
    { content: [{ type: 'file', data: 'AAAA' }] },
    { content: [{ output: { type: 'error-text', value: 'no' } }] },
  ]);
});
