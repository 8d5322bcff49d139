import { expect, test } from 'vitest';
import { generateText } from './generate-text.ts';
import { RoutedModel } from './routed-model.ts';
import { scriptedModel } from './scripted-model.ts';

const question = {
  prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }],
};
const failing = () => scriptedModel(() => ({ error: { status: 500 } }), { modelId: 'failing' });
const sound = () => scriptedModel(() => 'fine', { modelId: 'sound' });

test('a model that failed too often rests, and is tried again afterwards', async () => {
  let time = 0;
  const [first, second] = [failing(), sound()];
  const group = new RoutedModel([first, second], {
    id: 'g',
    allowedFails: 2,
    cooldownMs: 1_000,
    now: () => time,
  });
  for (let call = 0; call < 5; call += 1) await group.doGenerate(question);
  expect(first.requests).toHaveLength(2);
  time = 1_001;
  await group.doGenerate(question);
  expect(first.requests).toHaveLength(3);
});

test('when all rest, they are asked all the same', async () => {
  const only = failing();
  const group = new RoutedModel([only, failing()], { id: 'g', allowedFails: 1, now: () => 0 });
  await expect(group.doGenerate(question)).rejects.toThrow();
  await expect(group.doGenerate(question)).rejects.toThrow();
  expect(only.requests).toHaveLength(2);
});

test('simple-shuffle spreads the calls', async () => {
  const [first, second] = [sound(), sound()];
  let next = 0;
  const group = new RoutedModel([first, second], {
    id: 'g',
    strategy: 'simple-shuffle',
    random: () => (next++ % 2 === 0 ? 0 : 0.9),
  });
  for (let call = 0; call < 4; call += 1) await group.doGenerate(question);
  expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
});

test("a caller's abort stops the search and is no failure of a model", async () => {
  const [first, second] = [scriptedModel(() => ({ hang: true })), sound()];
  const group = new RoutedModel([first, second], { id: 'g' });
  const controller = new AbortController();
  const call = group.doGenerate({ ...question, abortSignal: controller.signal });
  controller.abort(new Error('left'));
  await expect(call).rejects.toThrow('left');
  expect(second.requests).toHaveLength(0);
});

test("the end of a caller's time limit stops the search and is a failure of the model", async () => {
  const [first, second] = [scriptedModel(() => ({ hang: true })), sound()];
  const group = new RoutedModel([first, second], { id: 'g', allowedFails: 1, now: () => 0 });
  const call = generateText(group, { prompt: 'hi', timeoutMs: 5, retries: 0 });
  await expect(call).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect(second.requests).toHaveLength(0);
  expect(await generateText(group, { prompt: 'hi' })).toMatchObject({ text: 'fine' });
  expect(first.requests).toHaveLength(1);
});

test('a stream falls back until it has started', async () => {
  const group = new RoutedModel([failing(), sound()], { id: 'g' });
  const { stream } = await group.doStream(question);
  const types: string[] = [];
  for await (const part of stream) types.push(part.type);
  expect(types).toContain('text-delta');
});

test('offers structured output only when every member does', () => {
  const structured = scriptedModel([], { structuredOutput: true });
  expect(new RoutedModel([structured, structured], { id: 'g' }).supportsStructuredOutputs).toBe(
    true,
  );
  expect(new RoutedModel([structured, sound()], { id: 'g' }).supportsStructuredOutputs).toBe(false);
});
