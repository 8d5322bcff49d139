import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateText } from './generate-text.ts';
import { recordedModel } from './recorded-model.ts';
import { scriptedModel } from './scripted-model.ts';

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'legate-recording-'));
  file = join(folder, 'recording.json');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const ask = async (model: LanguageModelV4, prompt: string): Promise<string> =>
  (await generateText(model, { prompt, retries: 0 })).text;

test('records once and replays forever without a model', async () => {
  const inner = scriptedModel(['one', 'two']);
  const recording = recordedModel(inner, file, 'auto');
  expect([await ask(recording, 'a'), await ask(recording, 'b')]).toEqual(['one', 'two']);

  const replay = recordedModel(undefined, file, 'auto');
  expect([await ask(replay, 'b'), await ask(replay, 'a')]).toEqual(['two', 'one']);
  expect(inner.requests).toHaveLength(2);
});

test('equal requests get their answers in the recorded order, then the last one', async () => {
  const recording = recordedModel(scriptedModel(['one', 'two']), file, 'record');
  await ask(recording, 'a');
  await ask(recording, 'a');
  const replay = recordedModel(undefined, file, 'replay');
  const answers = [await ask(replay, 'a'), await ask(replay, 'a'), await ask(replay, 'a')];
  expect(answers).toEqual(['one', 'two', 'two']);
});

test('a request that drifted fails with a readable difference', async () => {
  await ask(recordedModel(scriptedModel(['x']), file, 'record'), 'first\nsecond\nthird');
  const replay = recordedModel(undefined, file, 'replay');
  const error = await ask(replay, 'first\nchanged\nthird').catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('this request was never recorded');
  expect(String(error)).toContain('  first\n- second\n+ changed\n  third');
});

test('the difference is that to the nearest request, not to the longest', async () => {
  const recording = recordedModel(scriptedModel(['x', 'y']), file, 'record');
  await ask(recording, 'first\nsecond');
  await ask(recording, 'first\nsecond\nfirst\nlast');
  const replay = recordedModel(undefined, file, 'replay');
  const error = await ask(replay, 'first\nchanged').catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('- second\n+ changed');
  expect(String(error)).not.toContain('last');
});

test('what is to be ignored may differ', async () => {
  const ignore = [/\d{4}-\d\d-\d\d/];
  await ask(recordedModel(scriptedModel(['x']), file, 'record', { ignore }), 'on 2026-11-20');
  const replay = recordedModel(undefined, file, 'replay', { ignore });
  expect(await ask(replay, 'on 2030-01-01')).toBe('x');
});

test('streams are recorded part by part', async () => {
  const call = {
    prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'a' }] }],
  };
  const read = async (model: LanguageModelV4): Promise<unknown[]> => {
    const parts: unknown[] = [];
    for await (const part of (await model.doStream(call)).stream) {
      // What describes the transport is not recorded.
      if (part.type !== 'response-metadata') parts.push(JSON.parse(JSON.stringify(part)));
    }
    return parts;
  };
  const first = await read(recordedModel(scriptedModel(['one two']), file, 'record'));
  expect(await read(recordedModel(undefined, file, 'replay'))).toEqual(first);
});

test('headers and raw bodies are not written', async () => {
  const inner = scriptedModel(['x']);
  const chatty: LanguageModelV4 = {
    ...inner,
    doGenerate: async (call) => ({
      ...(await inner.doGenerate(call)),
      request: { body: 'secret-body' },
      response: { headers: { authorization: 'secret-header' } },
    }),
  };
  const recording = recordedModel(chatty, file, 'record');
  await generateText(recording, { prompt: 'a', headers: { 'x-key': 'secret-call' } });
  expect(await readFile(file, 'utf8')).not.toMatch(/secret/);
});

test('a missing or foreign file is a clear error', async () => {
  const replay = () => ask(recordedModel(undefined, file, 'replay'), 'a');
  await expect(replay()).rejects.toThrow('no recording; make one with mode "record"');
  await writeFile(file, '{"version": 9}');
  await expect(replay()).rejects.toThrow('not a recording of version 1');
});

test('recording needs a model', async () => {
  await expect(ask(recordedModel(undefined, file, 'record'), 'a')).rejects.toThrow('needs a model');
});
