import { expect, test } from 'vitest';
import { scriptedModel, type ScriptedReply } from '../../models/index.ts';
import { Conversation } from '../testing/conversation.ts';
import { tool } from '../tools/tool.ts';
import { llmAgent } from './llm-agent.ts';

const tooLong: ScriptedReply = {
  error: { status: 400, message: 'maximum context length is 100 tokens' },
};

async function talk(agent: Parameters<typeof llmAgent>[0], count: number) {
  const conversation = new Conversation(llmAgent(agent));
  for (let index = 1; index <= count; index += 1) await conversation.say(`question ${index}`);
  return conversation;
}

const answers = (count: number) =>
  Array.from({ length: count }, (_, index) => `answer ${index + 1}`);

test('turns beyond the window are left out, with a mark in their place', async () => {
  const model = scriptedModel(answers(4));
  await talk({ name: 'a', model, historyTurns: 2 }, 4);
  const prompt = model.requests[3]?.promptText ?? '';
  expect(prompt).toContain('Earlier messages of this conversation were left out');
  expect(prompt).not.toContain('question 1');
  expect(prompt).toContain('question 2');
  expect(model.requests[2]?.promptText).not.toContain('left out');
});

test('turns beyond the window are summarised once, and the summary is kept with the conversation', async () => {
  const model = scriptedModel(answers(6));
  const summariser = scriptedModel(['They talked about trains.', 'Trains, and then more.']);
  const compaction = { strategy: 'summarise', model: summariser } as const;
  const conversation = await talk({ name: 'a', model, historyTurns: 2, compaction }, 4);
  expect(summariser.requests).toHaveLength(1);
  expect(summariser.requests[0]?.promptText).toContain('User: question 1');
  expect(summariser.requests[0]?.promptText).toContain('You: answer 2');
  const fourth = model.requests[3]?.promptText ?? '';
  expect(fourth).toContain('They talked about trains.');
  expect(fourth).toContain('question 3');
  expect(fourth).not.toContain('question 2');

  await conversation.say('question 5');
  expect(model.requests[4]?.promptText).toContain('They talked about trains.');
  expect(model.requests[4]?.promptText).toContain('question 3');
  expect(summariser.requests).toHaveLength(1);

  await conversation.say('question 6');
  expect(summariser.requests[1]?.promptText).toContain('They talked about trains.');
  expect(model.requests[5]?.promptText).toContain('Trains, and then more.');
  expect(model.requests[5]?.promptText).not.toContain('question 4');
});

test('a summary that fails leaves the turns out, and the conversation continues', async () => {
  const model = scriptedModel(answers(4));
  const broken = scriptedModel([{ error: { status: 401, message: 'no key' } }]);
  const compaction = { strategy: 'summarise', model: broken } as const;
  await talk({ name: 'a', model, historyTurns: 2, compaction }, 4);
  expect(model.requests[3]?.promptText).toContain('left out');
});

test('a prompt that the model cannot read is compacted, and asked again', async () => {
  const model = scriptedModel(['answer 1', 'answer 2', tooLong, 'the gist', 'answer 3']);
  const conversation = await talk({ name: 'a', model, compaction: 'summarise' }, 2);
  expect((await conversation.say('question 3')).text).toBe('answer 3');
  expect(model.requests[3]?.promptText).toContain('User: question 1');
  expect(model.requests[4]?.promptText).toContain('the gist');
  expect(model.requests[4]?.promptText).not.toContain('question 1');
});

test('a history that the model could not read is not tried again', async () => {
  const model = scriptedModel(({ promptText }) =>
    promptText.includes('question 1') && promptText.includes('question 3')
      ? tooLong
      : `answered ${promptText.length}`,
  );
  const conversation = await talk({ name: 'a', model }, 3);
  const asked = model.requests.length;
  await conversation.say('question 4');
  expect(model.requests).toHaveLength(asked + 1);
  const prompt = model.requests.at(-1)?.promptText ?? '';
  expect(prompt).toContain('left out');
  expect(prompt).not.toContain('question 1');
  expect(prompt).toContain('question 3');
});

test('without earlier turns, long results of tools are cut before the model is asked again', async () => {
  const long = tool({ name: 'long', description: 'Long.', run: () => 'x'.repeat(9_000) });
  const model = scriptedModel([{ toolCalls: [{ name: 'long', input: {} }] }, tooLong, 'Done.']);
  const said = await new Conversation(llmAgent({ name: 'a', model, tools: [long] })).say('Go');
  expect(said.text).toBe('Done.');
  expect(model.requests[1]?.promptText).toContain('x'.repeat(9_000));
  expect(model.requests[2]?.promptText).not.toContain('x'.repeat(3_000));
  expect(model.requests[2]?.promptText).toContain('[cut]');
});

test('an unknown strategy option is refused', () => {
  const compaction = { strategie: 'cut' } as never;
  expect(() => llmAgent({ name: 'a', model: scriptedModel([]), compaction })).toThrow(/strategy/);
});
