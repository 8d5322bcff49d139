import { expect, test } from 'vitest';
import { artifact, data, textOf } from '../../protocol/index.ts';
import { scriptedModel } from '../../models/index.ts';
import type { Agent } from '../agent.ts';
import { agent, authRequired, completed, inputRequired, rejected, working } from '../define.ts';
import { llmAgent } from '../llm/llm-agent.ts';
import { Conversation } from '../testing/conversation.ts';
import { agentTool } from './agent-tool.ts';
import { tool } from './tool.ts';

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

test('a called agent that needs consent makes the task need it, and is notified of a cancel', async () => {
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

test('with `streams`, the caller sees what the agent makes while it is made', async () => {
  const poet = agent({ name: 'poet' }, async function* () {
    yield 'Roses';
    yield ' are red';
  });
  const model = scriptedModel([calling('poet', ['roses']), 'Read']);
  const tools = [agentTool(poet, { streams: true })];
  const said = await new Conversation(llmAgent({ name: 'editor', model, tools })).say('Go');
  const chunks = said.events.flatMap((event) =>
    'kind' in event && event.kind === 'chunk' && event.artifact.artifactId.startsWith('c0/')
      ? event.artifact.parts.map(({ text }) => text)
      : [],
  );
  expect(chunks.join('')).toBe('Roses are red');
  expect(model.requests[1]?.promptText).toContain('Roses are red');
});

test('an agent that journals what it does continues after a crash during its call', async () => {
  const paid: string[] = [];
  const hangs = Promise.withResolvers<void>();
  const pay = tool({ name: 'pay', description: 'Pays.', run: () => void paid.push('paid') });
  const inner = scriptedModel((_, index) => {
    if (index === 1) hangs.resolve();
    const answers = [{ toolCalls: [{ name: 'pay', input: {} }] }, { hang: true }];
    return answers[index] ?? 'All is paid.';
  });
  const cashier = llmAgent({ name: 'cashier', model: inner, tools: [pay] });
  const outer = scriptedModel([calling('cashier', ['Pay']), 'Done.']);
  const conversation = new Conversation(
    llmAgent({ name: 'clerk', model: outer, tools: [agentTool(cashier)] }),
  );
  const turn = { messageId: 'm', taskId: 'task-1' };
  const process = new AbortController();
  const dead = conversation.say('Go', { ...turn, signal: process.signal });
  await hangs.promise;
  process.abort(new Error('the process died'));
  await expect(dead).rejects.toThrow('the process died');

  const said = await conversation.say('Go', { ...turn, attempt: 2 });
  expect([said.text, paid]).toEqual(['Done.', ['paid']]);
  expect(outer.requests[1]?.promptText).toContain('All is paid.');
});

test('a remote agent is offered to the model under the name in its card, once that is known', async () => {
  let title = 'localhost:35921';
  const remote: Agent = {
    ...agent({ name: 'localhost:35921' }, () => 'salve'),
    get title() {
      return title;
    },
    prepare: async () => {
      title = 'The Translator (Latin)';
    },
  };
  const model = scriptedModel(({ tools }, index) =>
    index === 0 ? { toolCalls: [{ name: tools[0] ?? '', input: { request: 'hi' } }] } : 'Done',
  );
  const said = await new Conversation(
    llmAgent({ name: 'a', model, tools: [agentTool(remote)] }),
  ).say('Go');
  expect(model.requests[0]?.tools).toEqual(['The_Translator__Latin_']);
  expect([said.text, model.requests[1]?.promptText]).toEqual([
    'Done',
    expect.stringContaining('salve'),
  ]);
  expect(agentTool(remote, { name: 'latin' }).name).toBe('latin');
  expect(agentTool(agent({ name: '3 sisters' }, () => '')).name).toBe('agent_3_sisters');
});
