import { expect, test } from 'vitest';
import { scriptedModel } from '../models/index.ts';
import { artifact, textOf } from '../protocol/index.ts';
import { agent, completed, failed, inputRequired } from './define.ts';
import { llmAgent } from './llm/llm-agent.ts';
import { runChild } from './run-child.ts';
import { Conversation } from './testing/conversation.ts';
import { tool } from './tools/tool.ts';
import type { Agent } from './agent.ts';

/** Counts its turns in its own state, and asks where it is told to. */
function counter(name: string, asks = false): Agent & { turns: string[]; abandoned: string[] } {
  const turns: string[] = [];
  const abandoned: string[] = [];
  return {
    ...agent({ name }, async function* (turn) {
      const count = Number((await turn.state.load())?.['count'] ?? 0) + 1;
      turns.push(`${textOf(turn.message)}${turn.isContinuation ? ' (answer)' : ''}`);
      const context = { value: { count } };
      if (asks && !turn.isContinuation) return yield inputRequired(`${name}?`, { context });
      yield artifact(`${name} ${count}`);
      return yield completed(undefined, { context });
    }),
    abandon: async () => {
      abandoned.push(name);
      return { context: { value: {} } };
    },
    turns,
    abandoned,
  };
}

test('a child has state of its own, beside that of its parent and of other children', async () => {
  const [one, two] = [counter('one'), counter('two')];
  const parent = agent({ name: 'parent' }, async function* (turn) {
    const own = Number((await turn.state.load())?.['own'] ?? 0) + 1;
    const first = yield* runChild(one, turn, { shows: false });
    if (textOf(turn.message) !== 'short') yield* runChild(two, turn, { message: first.text });
    yield artifact(`own ${own}, ${first.state} ${first.text}`);
    yield completed(undefined, { context: { value: { own } } });
  });
  const conversation = new Conversation(parent);
  expect((await conversation.say('go')).text).toBe('two 1|own 1, completed one 1');
  expect((await conversation.say('short')).text).toBe('own 2, completed one 2');
  expect((await conversation.say('go')).text).toBe('two 2|own 3, completed one 3');
  expect(two.turns).toEqual(['one 1', 'one 3']);
});

test('a child that asks ends the turn with its question; ended children are not run again', async () => {
  const [first, second, third] = [
    counter('first'),
    counter('second', true),
    counter('third', true),
  ];
  const parent = agent({ name: 'parent' }, async function* (turn) {
    const made: string[] = [];
    for (const child of [first, second, third]) made.push((yield* runChild(child, turn)).text);
    yield artifact(made.join(', '));
  });
  const conversation = new Conversation(parent);
  const asked = await conversation.say('go');
  expect(asked.end).toMatchObject({ kind: 'input-required', parts: [{ text: 'second?' }] });
  const again = await conversation.say('A', { taskId: asked.taskId });
  expect(again.end).toMatchObject({ kind: 'input-required', parts: [{ text: 'third?' }] });
  const done = await conversation.say('B', { taskId: asked.taskId });
  expect(done.end.kind).toBe('completed');
  expect(done.text).toBe('third 2|first 1, second 2, third 2');
  expect([first.turns, second.turns, third.turns]).toEqual([
    ['go'],
    ['go', 'A (answer)'],
    ['go', 'B (answer)'],
  ]);
});

test('confirmations of two LLM agents in one agent are kept apart', async () => {
  const ran: string[] = [];
  const clerk = (name: string): Agent =>
    llmAgent({
      name,
      model: scriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, `${name} paid`]),
      tools: [
        tool({
          name: 'pay',
          description: 'Pays.',
          needsConfirmation: true,
          run: () => void ran.push(name),
        }),
      ],
    });
  const [one, two] = [clerk('one'), clerk('two')];
  const parent = agent({ name: 'parent' }, async function* (turn) {
    yield* runChild(one, turn);
    yield* runChild(two, turn);
  });
  const conversation = new Conversation(parent);
  const { taskId } = await conversation.say('go');
  expect(ran).toEqual([]);
  expect((await conversation.say('yes', { taskId })).end.kind).toBe('input-required');
  expect(ran).toEqual(['one']);
  expect((await conversation.say('yes', { taskId })).end.kind).toBe('completed');
  expect(ran).toEqual(['one', 'two']);
});

test('after a crash ended children return their journaled results', async () => {
  const [first, second] = [counter('first'), counter('second')];
  const parent = agent({ name: 'parent', onInterrupted: 'run-again' }, async function* (turn) {
    yield* runChild(first, turn);
    yield* runChild(first, turn);
    yield* runChild(second, turn);
  });
  const conversation = new Conversation(parent);
  const crash = new Error('crash');
  const crashing = conversation.say('go', {
    taskId: 't',
    messageId: 'm',
    onEvent: (event) => {
      if ('artifactId' in event && event.artifactId.startsWith('second')) throw crash;
    },
  });
  await expect(crashing).rejects.toThrow(crash);
  const said = await conversation.say('go', { taskId: 't', messageId: 'm', attempt: 2 });
  expect(said.text).toBe('first 1|first 2|second 1');
  expect([first.turns, second.turns]).toEqual([
    ['go', 'go'],
    ['go', 'go'],
  ]);
});

test('a child that fails is a result, and a cancelled question is dropped by the child', async () => {
  const sad = agent({ name: 'sad' }, async function* () {
    yield failed('no luck');
  });
  const asker = counter('asker', true);
  const parent = agent({ name: 'parent' }, async function* (turn) {
    const { state, text } = yield* runChild(sad, turn);
    yield artifact(`${state}: ${text}`);
    yield* runChild(asker, turn);
  });
  const conversation = new Conversation(parent);
  const asked = await conversation.say('go');
  expect(asked.text).toContain('failed: no luck');
  await parent.abandon?.(conversation.turn('', { taskId: asked.taskId }));
  expect(asker.abandoned).toEqual(['asker']);
});

test('runChild needs the turn of a function of agent()', async () => {
  const child = counter('child');
  const raw: Agent = {
    name: 'raw',
    description: '',
    skills: [],
    take: async function* (turn) {
      yield* runChild(child, turn);
    },
  };
  await expect(new Conversation(raw).say('go')).rejects.toThrow(/pass the turn that a function/);
});
