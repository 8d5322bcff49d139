import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { scriptedModel } from '../../models/index.ts';
import { Conversation } from '../testing/conversation.ts';
import { tool } from '../tools/tool.ts';
import { llmAgent } from './llm-agent.ts';

test('beforeAgent may answer in place of the agent, and its answer belongs to the conversation', async () => {
  const model = scriptedModel(['You asked for the time.']);
  const conversation = new Conversation(
    llmAgent({
      name: 'a',
      model,
      beforeAgent: ({ message }) =>
        message.parts[0]?.text === 'time' ? { answer: 'Noon.' } : undefined,
    }),
  );
  expect((await conversation.say('time')).text).toBe('Noon.');
  expect(model.requests).toHaveLength(0);
  await conversation.say('What did I ask for?');
  expect(model.requests[0]?.promptText).toContain('Noon.');
});

test('afterAgent sees every end, and may replace it', async () => {
  const seen: string[] = [];
  const agent = llmAgent({
    name: 'a',
    model: scriptedModel(['Hello', { error: { status: 400, message: 'no' } }]),
    afterAgent: (end) => {
      seen.push(end.kind);
      return end.kind === 'failed'
        ? { ...end, metadata: { ...end.metadata, seen: true } }
        : undefined;
    },
  });
  const conversation = new Conversation(agent);
  await conversation.say('Hi');
  const failed = await conversation.say('Again');
  expect(seen).toEqual(['completed', 'failed']);
  expect(failed.end).toMatchObject({ kind: 'failed', metadata: { seen: true } });
});

test('onToolError may give a result in place of a tool that failed', async () => {
  const broken = tool({
    name: 'broken',
    description: 'Breaks.',
    run: () => {
      throw new Error('no connection');
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'broken', input: {} }] }, 'ok']);
  const agent = llmAgent({
    name: 'a',
    model,
    tools: [broken],
    onToolError: ({ name }, error) => ({
      result: `${name} says ${error instanceof Error ? error.message : ''}, use the cache`,
    }),
  });
  await new Conversation(agent).say('Go');
  expect(model.requests[1]?.promptText).toContain('broken says no connection, use the cache');
});

/** Draws a picture and names a source. */
const painter: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'test',
  modelId: 'painter',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not streamed')),
  async doStream() {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Here it is.' },
      { type: 'text-end', id: 't' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
      {
        type: 'source',
        sourceType: 'url',
        id: 's1',
        url: 'https://example.com/',
        title: 'Example',
      },
      {
        type: 'finish',
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
      },
    ];
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
    return { stream };
  },
};

test('files that a model makes, and its sources, reach the caller as parts', async () => {
  const said = await new Conversation(llmAgent({ name: 'a', model: painter })).say('Draw');
  expect(said.artifacts).toEqual([
    { artifactId: 'answer', parts: [{ text: 'Here it is.' }] },
    {
      artifactId: 'answer/files/1',
      parts: [
        { raw: 'AAAA', mediaType: 'image/png' },
        { url: 'https://example.com/', filename: 'Example', metadata: { source: 's1' } },
      ],
    },
  ]);
});
