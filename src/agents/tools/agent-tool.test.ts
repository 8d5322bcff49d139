import { expect, test } from 'vitest';
import { artifact, data } from '../../protocol/index.ts';
import { scriptedModel } from '../../models/index.ts';
import {
  agent,
  authRequired,
  completed,
  inputRequired,
  rejected,
  textOf,
  working,
} from '../define.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation } from '../testing/conversation.ts';
import { agentTool } from './agent-tool.ts';

function calling(name: string, requests: readonly string[]) {
  return {
    toolCalls: requests.map((request, index) => ({ name, input: { request }, id: `c${index}` })),
  };
}

test('an agent is called like a tool, and what it makes is the result', async () => {
  const researcher = agent({ name: 'the researcher' }, async function* (turn) {
    yield working('searching');
    yield artifact([{ text: `About ${textOf(turn.message)}` }, data({ pages: 2 })]);
  });
  const model = scriptedModel([calling('the_researcher', ['cats', 'dogs']), 'Written']);
  const editor = llmAgent({ name: 'editor', model, tools: [agentTool(researcher)] });
  const said = await new Conversation(editor).say('Write');
  expect(said.text).toBe('Written');
  expect(said.events.filter((event) => 'kind' in event && event.kind === 'working')).toHaveLength(
    2,
  );
  expect(model.requests[1]?.promptText).toContain('{"text":"About cats","data":[{"pages":2}]}');
  expect(model.requests[1]?.promptText).toContain('About dogs');
});

test('an agent that does not complete is an error for the model', async () => {
  const picky = agent({ name: 'picky' }, async function* () {
    yield rejected('not my field');
  });
  const model = scriptedModel([calling('picky', ['x']), 'Sorry']);
  const said = await new Conversation(
    llmAgent({ name: 'a', model, tools: [agentTool(picky)] }),
  ).say('Go');
  expect(said.text).toBe('Sorry');
  expect(model.requests[1]?.promptText).toContain('picky ended as rejected: not my field');
});

test('questions of called agents are asked one after the other, and each gets its answer', async () => {
  const shy = agent({ name: 'shy' }, async function* (turn) {
    const saved = await turn.state.load();
    const text = textOf(turn.message);
    if (saved === undefined) {
      yield inputRequired(`${text}: which?`, { context: { value: { about: text } } });
    } else {
      yield completed(`${saved['about'] as string} is ${text}`);
    }
  });
  const model = scriptedModel([calling('shy', ['A', 'B']), 'Both known']);
  const conversation = new Conversation(llmAgent({ name: 'a', model, tools: [agentTool(shy)] }));
  const first = await conversation.say('Go');
  expect(first.end.parts).toEqual([{ text: 'A: which?' }]);
  const second = await conversation.say('one', { taskId: first.taskId });
  expect(second.end.parts).toEqual([{ text: 'B: which?' }]);
  const third = await conversation.say('two', { taskId: first.taskId });
  expect(third.text).toBe('Both known');
  expect(model.requests[1]?.promptText).toContain('A is one');
  expect(model.requests[1]?.promptText).toContain('B is two');
});

test('a called agent that needs consent makes the task need it, and is told of a cancel', async () => {
  const abandoned: unknown[] = [];
  const guarded = {
    ...agent({ name: 'guarded' }, async function* () {
      yield authRequired('Please log in', { context: { value: { id: 7 } } });
    }),
    abandon: async (turn: { state: { load(): Promise<unknown> } }) => {
      abandoned.push(await turn.state.load());
      return undefined;
    },
  };
  const model = scriptedModel([calling('guarded', ['x'])]);
  const conversation = new Conversation(
    llmAgent({ name: 'a', model, tools: [agentTool(guarded)] }),
  );
  const asked = await conversation.say('Go');
  expect(asked.end.kind).toBe('auth-required');
  await conversation.abandon(asked.taskId);
  expect(abandoned).toEqual([{ id: 7 }]);
});

test('what called models cost is added up', async () => {
  const usage = { input: 10, output: 1 };
  const inner = llmAgent({ name: 'inner', model: scriptedModel([{ text: 'ok', usage }]) });
  const model = scriptedModel([
    { ...calling('inner', ['x']), usage },
    { text: 'done', usage },
  ]);
  const { end } = await new Conversation(
    llmAgent({ name: 'outer', model, tools: [agentTool(inner)] }),
  ).say('Go');
  expect(end.metadata).toMatchObject({ usage: { input: 30, output: 3, calls: 3 } });
});
