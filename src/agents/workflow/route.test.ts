import { expect, test } from 'vitest';
import { artifact, textOf } from '../../protocol/index.ts';
import type { Agent } from '../agent.ts';
import { agent, inputRequired } from '../define.ts';
import { Conversation } from '../testing/conversation.ts';
import { loop } from './loop.ts';
import { route } from './route.ts';
import { sequential } from './sequential.ts';

function echo(name: string): Agent {
  return agent({ name }, async (turn) => `${name}: ${textOf(turn.message)}`);
}

const asker = agent({ name: 'asker' }, async function* (turn) {
  if (turn.isContinuation) yield artifact(`asker got ${textOf(turn.message)}`);
  else yield inputRequired('Which?');
});

test('each task goes to the agent that is chosen, by name or as such', async () => {
  const [one, two] = [echo('one'), echo('two')];
  const desk = route({
    name: 'desk',
    agents: [one, two],
    choose: (turn) => (textOf(turn.message) === 'a' ? 'one' : two),
  });
  const conversation = new Conversation(desk);
  expect((await conversation.say('a')).text).toBe('one: a');
  expect((await conversation.say('b')).text).toBe('two: b');
});

test('an answer goes to the agent that asked, without another choice', async () => {
  let choices = 0;
  const desk = route({
    name: 'desk',
    agents: [asker, echo('other')],
    choose: () => {
      choices += 1;
      return choices === 1 ? 'asker' : 'other';
    },
  });
  const conversation = new Conversation(desk);
  const { taskId, end } = await conversation.say('go');
  expect(end.kind).toBe('input-required');
  expect((await conversation.say('this', { taskId })).text).toBe('asker got this');
  expect((await conversation.say('more')).text).toBe('other: more');
});

test('a turn that runs again after a crash keeps its choice', async () => {
  const choices = ['one', 'two'];
  const desk = route({
    name: 'desk',
    agents: [echo('one'), echo('two')],
    choose: () => choices.shift() ?? '',
  });
  const conversation = new Conversation(desk);
  const crashing = conversation.say('go', {
    taskId: 't',
    messageId: 'm',
    onEvent: (event) => {
      if ('kind' in event && event.kind === 'chunk') throw new Error('crash');
    },
  });
  await expect(crashing).rejects.toThrow('crash');
  const again = await conversation.say('go', { taskId: 't', messageId: 'm', attempt: 2 });
  expect(again.text).toBe('one: go');
});

test('a workflow branches by what its step before made', async () => {
  const classify = agent({ name: 'classify' }, async (turn) =>
    textOf(turn.message).includes('invoice') ? 'billing' : 'support',
  );
  const desk = sequential({
    name: 'desk',
    steps: [
      classify,
      route({
        name: 'branch',
        agents: [echo('billing'), echo('support')],
        choose: (turn) => textOf(turn.message),
      }),
    ],
  });
  expect((await new Conversation(desk).say('my invoice')).text).toBe('billing: billing');
  expect((await new Conversation(desk).say('help')).text).toBe('support: support');
});

test('a choice that is none of the agents fails, and names them', async () => {
  const desk = route({ name: 'desk', agents: [echo('one')], choose: () => 'two' });
  await expect(new Conversation(desk).say('go')).rejects.toThrow(
    'agent "desk" chose "two", which is not one of its agents: one',
  );
  expect(() => route({ name: 'desk', agents: [], choose: () => '' })).toThrow(/no agents/);
});

test('the steps of a loop get what the step before made, or all that was made so far', async () => {
  for (const [passes, expected] of [
    ['previous', 'b(a(b(a(go))))'],
    ['all', 'b(go\na(go)\nb(go\na(go))\na(go\na(go)\nb(go\na(go))))'],
  ] as const) {
    const wrap = (name: string) =>
      agent({ name }, async (turn) => `${name}(${textOf(turn.message)})`);
    const twice = loop({ name: 'twice', steps: [wrap('a'), wrap('b')], maxIterations: 2, passes });
    expect((await new Conversation(twice).say('go')).text).toBe(expected);
  }
});
