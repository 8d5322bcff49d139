import { expect, test } from 'vitest';
import { artifact, textOf } from '../../protocol/index.ts';
import { type ScriptedReply, scriptedModel } from '../../models/index.ts';
import { agent, inputRequired } from '../define.ts';
import { tool } from '../tools/tool.ts';
import { Conversation } from '../testing/conversation.ts';
import { llmAgent } from './llm-agent.ts';

const transfer = (to: string): ScriptedReply => ({
  toolCalls: [{ name: 'transfer_to_agent', input: { agent_name: to } }],
});

test('the model hands the conversation to a sub agent, who keeps it and can hand it back', async () => {
  const front = scriptedModel([transfer('billing'), 'Front again']);
  const billing = scriptedModel(['Your bill is 5', 'Anything else?', transfer('front')]);
  const agentTree = llmAgent({
    name: 'front',
    model: front,
    instruction: 'You are the front desk.',
    subAgents: [
      llmAgent({ name: 'billing', description: 'Knows bills.', model: billing }),
      llmAgent({ name: 'repairs', model: scriptedModel([]) }),
    ],
  });
  const conversation = new Conversation(agentTree);
  expect((await conversation.say('What is my bill?')).text).toBe('Your bill is 5');
  expect((await conversation.say('Thanks')).text).toBe('Anything else?');
  expect(front.requests).toHaveLength(1);
  expect(billing.requests[1]?.messages.map(({ text }) => text)).toEqual([
    'What is my bill?',
    'Your bill is 5',
    'Thanks',
  ]);
  expect((await conversation.say('The front desk please')).text).toBe('Front again');
  expect(front.requests[1]?.messages.map(({ text }) => text)).toEqual([
    'You are the front desk.',
    'What is my bill?',
    'Your bill is 5',
    'Thanks',
    'Anything else?',
    'The front desk please',
  ]);
});

test('the model may call a sub agent by its title, as a remote agent has one in its card', async () => {
  const remote = { ...agent({ name: 'hotels.example' }, () => 'Two rooms'), title: 'Hotels' };
  const model = scriptedModel([transfer('Hotels')]);
  const front = llmAgent({ name: 'front', model, subAgents: [remote] });
  expect((await new Conversation(front).say('A room')).text).toBe('Two rooms');
});

test('siblings hand on to each other through their parent, and usage adds up', async () => {
  const usage = { input: 1, output: 1 };
  const front = scriptedModel([{ ...(transfer('one') as object), usage }]);
  const one = llmAgent({
    name: 'one',
    model: scriptedModel([{ ...(transfer('two') as object), usage }]),
  });
  const two = llmAgent({ name: 'two', model: scriptedModel([{ text: 'From two', usage }]) });
  const tree = llmAgent({ name: 'front', model: front, subAgents: [one, two] });
  const said = await new Conversation(tree).say('Go');
  expect(said.text).toBe('From two');
  expect(said.end.metadata).toMatchObject({ usage: { input: 3, output: 3, calls: 3 } });
});

test('a grandchild hands the conversation to its grandparent', async () => {
  const leaf = llmAgent({ name: 'leaf', model: scriptedModel([transfer('root')]) });
  const middle = llmAgent({
    name: 'middle',
    model: scriptedModel([transfer('leaf')]),
    subAgents: [leaf],
  });
  const root = llmAgent({
    name: 'root',
    model: scriptedModel([transfer('middle'), 'Back at the root']),
    subAgents: [middle],
  });
  expect((await new Conversation(root).say('Go')).text).toBe('Back at the root');
});

test('agents that hand on without end are stopped', async () => {
  const tree = llmAgent({
    name: 'a',
    model: scriptedModel(() => transfer('b')),
    subAgents: [llmAgent({ name: 'b', model: scriptedModel(() => transfer('a')) })],
  });
  expect((await new Conversation(tree).say('Go')).end).toMatchObject({
    kind: 'failed',
    metadata: { error_type: 'transfer_limit' },
  });
});

test('a question of a sub agent pauses the task, and its answer goes to the sub agent', async () => {
  let runs = 0;
  const risky = tool({
    name: 'risky',
    description: 'Risky.',
    needsConfirmation: true,
    run: () => {
      runs += 1;
      return 'ok';
    },
  });
  const child = llmAgent({
    name: 'child',
    model: scriptedModel([
      { toolCalls: [{ name: 'risky', input: {} }], usage: { input: 1, output: 0 } },
      { text: 'Did it', usage: { input: 1, output: 0 } },
    ]),
    tools: [risky],
  });
  const parent = llmAgent({
    name: 'parent',
    model: scriptedModel([{ ...(transfer('child') as object), usage: { input: 1, output: 0 } }]),
    subAgents: [child],
  });
  const conversation = new Conversation(parent);
  const { taskId, end } = await conversation.say('Go');
  expect(end.kind).toBe('input-required');
  const done = await conversation.say('yes', { taskId });
  expect(done.text).toBe('Did it');
  expect(done.end.metadata).toMatchObject({ usage: { input: 3, calls: 3 } });
  expect(runs).toBe(1);

  const again = new Conversation(
    llmAgent({
      name: 'parent',
      model: scriptedModel([transfer('child')]),
      subAgents: [
        llmAgent({
          name: 'child',
          model: scriptedModel([{ toolCalls: [{ name: 'risky', input: {} }] }]),
          tools: [risky],
        }),
      ],
    }),
  );
  const asked = await again.say('Go');
  await again.abandon(asked.taskId);
  expect(JSON.stringify(again.value)).not.toContain(asked.taskId);
});

test('a sub agent without a model keeps the turn while it asks, and no longer', async () => {
  const form = agent({ name: 'form', description: 'A form.' }, async function* (turn) {
    const saved = await turn.state.load();
    if (saved === undefined) {
      yield inputRequired('Your name?', { context: { value: { asked: true } } });
      return;
    }
    yield artifact(`Hello ${textOf(turn.message)}`);
  });
  const model = scriptedModel([transfer('form'), 'Front']);
  const conversation = new Conversation(llmAgent({ name: 'front', model, subAgents: [form] }));
  const { taskId, end } = await conversation.say('I want to sign up');
  expect(end).toMatchObject({ kind: 'input-required', parts: [{ text: 'Your name?' }] });
  expect((await conversation.say('Ada', { taskId })).text).toBe('Hello Ada');
  expect((await conversation.say('And now?')).text).toBe('Front');
  expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual([
    'Ada',
    'Hello Ada',
    'And now?',
  ]);
});

test('an unknown target is an error that the model is told', async () => {
  const model = scriptedModel([transfer('nobody'), 'I do it myself']);
  const tree = llmAgent({
    name: 'front',
    model,
    subAgents: [llmAgent({ name: 'one', model: scriptedModel([]) })],
  });
  expect((await new Conversation(tree).say('Go')).text).toBe('I do it myself');
  expect(model.requests[1]?.promptText).toContain('the input is not valid');
});

test('a sub agent that fails fails the task, without its inner words', async () => {
  const broken = agent({ name: 'broken' }, async function* (turn) {
    yield artifact('begun');
    if (turn.attempt === 1) throw new Error('password=hunter2');
  });
  const tree = llmAgent({
    name: 'front',
    model: scriptedModel([transfer('broken')]),
    subAgents: [broken],
  });
  const { end } = await new Conversation(tree).say('Go');
  expect(end).toMatchObject({ kind: 'failed', metadata: { error_type: 'agent_error' } });
  expect(JSON.stringify(end)).not.toContain('hunter2');
});

test('a tool cannot take the name of the one that hands the conversation on', async () => {
  const tree = llmAgent({
    name: 'front',
    model: scriptedModel([]),
    subAgents: [llmAgent({ name: 'one', model: scriptedModel([]) })],
    tools: [tool({ name: 'transfer_to_agent', description: 'x', run: () => 1 })],
  });
  await expect(new Conversation(tree).say('Go')).rejects.toThrow(
    /is reserved for the transfer tool; rename your tool/,
  );
});

test('names that cannot be told apart are refused', () => {
  const twin = llmAgent({ name: 'twin', model: scriptedModel([]) });
  expect(() =>
    llmAgent({ name: 'front', model: scriptedModel([]), subAgents: [twin, twin] }),
  ).toThrow(/two agents are named "twin"/);
});
