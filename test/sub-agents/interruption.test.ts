import { expect, test } from 'vitest';
import {
  cancel,
  chitchat,
  clarify,
  continueAgent,
  repeat,
  search,
  set,
  start,
} from '../../src/assistant/testing/conversation.ts';
import { talk } from './support.ts';

/**
 * The ways in which a conversation can leave an agent and come back to it. Each agent tells how it
 * was called and how often in this run; "done" completes it, "break" makes it fail.
 */
const module = `
export const run = ({ id, userMessage, metadata }) => {
  const { agent_id, count = 0, resumed_after_interruption, restarted } = metadata;
  if (userMessage === 'break') throw new Error('broken');
  if (userMessage === 'done' && !resumed_after_interruption && !restarted) {
    return { id, status: 'completed', responseMessage: agent_id + ' completed after ' + count };
  }
  const how = resumed_after_interruption ? 'resumed' : restarted ? 'restarted' : count === 0 ? 'started' : 'continued';
  return {
    id,
    status: 'input_required',
    responseMessage: agent_id + ' ' + how + ' ' + count,
    events: [{ event: 'slot', name: 'note', value: agent_id + ' ' + count }],
    metadata: { count: count + 1 },
  };
};
`;

/** Beside the trip, which has one agent alone. */
const files = {
  'domain/interruption.yml': `
slots:
  seat: {type: text}
  again: {type: bool}
  note: {type: text, mappings: [{type: controlled}]}
actions: [action_broken]
responses:
  utter_ask_seat: [{text: "Which seat?"}]
  utter_ask_again: [{text: "Once more?"}]
`,
  'data/interruption.yml': `
flows:
  journey:
    name: planning a journey
    description: Plan a journey.
    run_pattern_completed: false
    steps:
      - collect: city
      - call: finder
      - collect: seat
        ask_before_filling: true
      - call: payer
      - action: utter_booked
  food:
    name: ordering food
    description: Order food.
    run_pattern_completed: false
    steps:
      - call: cook
  tour:
    name: a tour
    description: See the sights.
    run_pattern_completed: false
    steps:
      - call: guided
      - action: utter_booked
  guided:
    description: Be guided.
    if: False
    steps:
      - call: guide
  rounds:
    name: rounds
    description: Ask in rounds.
    run_pattern_completed: false
    steps:
      - id: ask
        call: finder
      - collect: again
        ask_before_filling: true
        next:
          - if: slots.again
            then: ask
          - else: END
  broken:
    description: Something that breaks.
    run_pattern_completed: false
    steps:
      - action: action_broken
`,
  ...Object.fromEntries(
    ['finder', 'payer', 'cook', 'guide'].flatMap((name) => [
      [
        `sub_agents/${name}/config.yml`,
        `agent: {name: ${name}, description: Is ${name}.}\nconfiguration: {module: ./agent.ts}\n`,
      ],
      [`sub_agents/${name}/agent.ts`, module],
    ]),
  ),
};

const yes = set('continue_interrupted_flow_confirmation', true);
const no = set('continue_interrupted_flow_confirmation', false);
const toRome = [start('journey'), set('city', 'Rome')] as const;
const APOLOGY = 'Something went wrong on my side. Please try that again.';

async function begun() {
  const one = await talk({ files });
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['finder started 0']);
  return one;
}

test('a flow comes between: the agent is resumed where it was, and does not end by being resumed', async () => {
  await using one = await begun();
  const { chat } = one;
  expect(await chat.say('a hotel', continueAgent)).toEqual(['finder continued 1']);
  expect(await chat.say('weather?', start('weather'))).toEqual([
    'Sunny.',
    'Would you like to continue with planning a journey?',
  ]);
  expect(chat.flowEvents.slice(0, 2)).toEqual([
    'flow_interrupted journey',
    'agent_interrupted finder',
  ]);
  // What the user answered to the question is no answer to the agent.
  expect(await chat.say('done', yes)).toEqual(['finder resumed 2']);
  expect(chat.flowEvents).toEqual(['flow_resumed journey', 'agent_resumed finder']);
  expect(chat.outcome.waitingAgent).toBe('finder');
  expect(await chat.say('done', continueAgent)).toEqual([
    'finder completed after 3',
    'Which seat?',
  ]);
});

for (const [what, command] of [
  ['small talk', chitchat],
  ['a question of knowledge', search],
] as const) {
  test(`${what} comes between: the agent is resumed by itself`, async () => {
    await using one = await begun();
    const { chat } = one;
    const said = await chat.say('hm', command);
    expect(said.at(-1)).toBe('finder resumed 1');
    expect(chat.flowEvents).toEqual(['agent_interrupted finder', 'agent_resumed finder']);
    expect(await chat.say('done', continueAgent)).toEqual([
      'finder completed after 2',
      'Which seat?',
    ]);
  });
}

test('a question back comes between: whatever is chosen, the agent is not lost', async () => {
  await using one = await begun();
  const { chat } = one;
  const asked = await chat.say('hm', clarify('weather', 'food'));
  expect(asked.join()).toMatch(/ordering food/);
  expect(chat.flowEvents[0]).toBe('agent_interrupted finder');
  expect(await chat.say('weather', start('weather'))).toEqual([
    'Sunny.',
    'Would you like to continue with planning a journey?',
  ]);
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 1']);
  expect(chat.outcome.waitingAgent).toBe('finder');
  expect((await chat.say('done', continueAgent)).at(-1)).toBe('Which seat?');
});

test('a question back that the user does not answer: what is meant for the agent reaches it', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('hm', clarify('weather', 'food'));
  expect(await chat.say('a hotel', continueAgent)).toEqual(['finder continued 1']);
  expect(chat.flowEvents).toEqual(['agent_resumed finder']);
  expect(await chat.say('done', continueAgent)).toEqual([
    'finder completed after 2',
    'Which seat?',
  ]);
});

test('two agents wait: the right one is resumed, with its own state', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('a hotel', continueAgent);
  expect(await chat.say('pizza', start('food'))).toEqual(['cook started 0']);
  expect(await chat.say('done', continueAgent)).toEqual([
    'cook completed after 1',
    'Would you like to continue with planning a journey?',
  ]);
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 2']);
  expect(chat.flowEvents).toEqual(['flow_resumed journey', 'agent_resumed finder']);
});

test('the user goes back to the lower of two agents by name, and later to the other', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('pizza', start('food'));
  expect(await chat.say('back to the journey', start('journey'))).toEqual(['finder resumed 1']);
  expect(chat.flowEvents).toEqual([
    'flow_interrupted food',
    'agent_interrupted cook',
    'flow_resumed journey',
    'agent_resumed finder',
  ]);
  expect(await chat.say('pizza', start('food'))).toEqual(['cook resumed 1']);
  expect(await chat.say('done', continueAgent)).toEqual([
    'cook completed after 2',
    'Would you like to continue with planning a journey?',
  ]);
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 2']);
});

test('three flows deep, the user chooses which agent continues', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('pizza', start('food'));
  const [, question] = await chat.say('weather?', start('weather'));
  expect(question).toMatch(/ordering food or planning a journey/);
  expect(
    await chat.say('the journey', set('interrupted_flow_to_continue', 'planning a journey')),
  ).toEqual(['finder resumed 1']);
  expect(chat.outcome.userFlows).toContain('food');
});

test('an agent that the user does not want to continue with is cancelled', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('weather?', start('weather'));
  await chat.say('no', no);
  expect(chat.flowEvents).toEqual(['agent_cancelled finder', 'flow_cancelled journey']);
  expect(chat.outcome.userFlows).toEqual([]);
  // The next time it begins from nothing.
  expect(await chat.say('to Rome', ...toRome)).toEqual(['finder started 0']);
});

test('a loop back to an agent starts it again, also when it had been interrupted before', async () => {
  await using one = await talk({ files });
  const { chat } = one;
  expect(await chat.say('rounds', start('rounds'))).toEqual(['finder started 0']);
  await chat.say('weather?', start('weather'));
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 1']);
  expect(await chat.say('done', continueAgent)).toEqual(['finder completed after 2', 'Once more?']);
  expect(await chat.say('yes', set('again', true))).toEqual(['finder started 0']);
  expect(chat.flowEvents).toEqual(['agent_started finder']);
  expect(await chat.say('done', continueAgent)).toEqual(['finder completed after 1', 'Once more?']);
  expect(await chat.say('no', set('again', false))).toEqual([]);
  expect(chat.flowEvents).toEqual(['flow_completed rounds']);
});

test('a restart takes the steps behind the agent again, and resumes the later agent', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('done', continueAgent);
  expect(await chat.say('12A', set('seat', '12A'))).toEqual(['payer started 0']);
  expect(await chat.say('other hotel', { command: 'restart agent', agent: 'finder' })).toEqual([
    'finder restarted 0',
  ]);
  expect(chat.flowEvents).toEqual(['agent_interrupted payer', 'agent_started finder']);
  expect(await chat.say('done', continueAgent)).toEqual([
    'finder completed after 1',
    'Which seat?',
  ]);
  expect(await chat.say('14C', set('seat', '14C'))).toEqual(['payer resumed 1']);
  expect(chat.flowEvents).toContain('agent_resumed payer');
  expect(await chat.say('done', continueAgent)).toEqual([
    'payer completed after 2',
    'Booked None.',
  ]);
});

test('an agent that was restarted can be interrupted and resumed like any other', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('done', continueAgent);
  await chat.say('other hotel', { command: 'restart agent', agent: 'finder' });
  await chat.say('weather?', start('weather'));
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 1']);
  expect(await chat.say('done', continueAgent)).toEqual([
    'finder completed after 2',
    'Which seat?',
  ]);
});

test('an agent that is not of the flow, or has not completed, is not restarted', async () => {
  await using one = await begun();
  const { chat } = one;
  expect(await chat.say('cook again', { command: 'restart agent', agent: 'cook' })).toEqual([
    'finder continued 1',
  ]);
});

test('what an agent sets while it asks is kept, through an interruption as well', async () => {
  await using one = await begun();
  const { chat } = one;
  expect(chat.slot('note')).toBe('finder 0');
  await chat.say('weather?', start('weather'));
  expect(chat.slot('note')).toBe('finder 0');
  await chat.say('yes', yes);
  expect(chat.slot('note')).toBe('finder 1');
});

test('an agent within a called flow is interrupted and resumed, and the caller continues after it', async () => {
  await using one = await talk({ files });
  const { chat } = one;
  expect(await chat.say('a tour', start('tour'))).toEqual(['guide started 0']);
  expect(await chat.say('weather?', start('weather'))).toEqual([
    'Sunny.',
    'Would you like to continue with a tour?',
  ]);
  expect(await chat.say('yes', yes)).toEqual(['guide resumed 1']);
  expect(await chat.say('done', continueAgent)).toEqual([
    'guide completed after 2',
    'Booked None.',
  ]);
  expect(chat.flowEvents).toEqual([
    'agent_completed guide',
    'flow_completed guided',
    'flow_completed tour',
  ]);
});

test('cancelling the flow that came between leads back to the agent', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('pizza', start('food'));
  const said = await chat.say('stop', cancel);
  expect(said.at(-1)).toBe('Would you like to continue with planning a journey?');
  expect(chat.flowEvents).toEqual(['agent_cancelled cook', 'flow_cancelled food']);
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 1']);
});

test('stop that and do this: the agent is cancelled, and the other flow starts', async () => {
  await using one = await begun();
  const { chat } = one;
  const said = await chat.say('stop, pizza', cancel, start('food'));
  expect(said.at(-1)).toBe('cook started 0');
  expect(chat.flowEvents).toContain('agent_cancelled finder');
  expect(chat.outcome.userFlows).toEqual(['food']);
});

test('a flow that breaks while it came between leaves the agent to be resumed', async () => {
  await using one = await begun();
  const { chat } = one;
  const said = await chat.say('break it', start('broken'));
  expect(said.filter((text) => text === APOLOGY)).toHaveLength(1);
  expect(said.at(-1)).toBe('Would you like to continue with planning a journey?');
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 1']);
});

test('a failing agent ends its flow with one message, and does not affect the other agent', async () => {
  await using one = await begun();
  const { chat } = one;
  await chat.say('pizza', start('food'));
  const said = await chat.say('break', continueAgent);
  expect(said.filter((text) => text === APOLOGY)).toHaveLength(1);
  expect(said.join()).not.toContain('will not go on');
  expect(chat.flowEvents.slice(0, 2)).toEqual(['agent_cancelled cook', 'flow_cancelled food']);
  expect(await chat.say('yes', yes)).toEqual(['finder resumed 1']);
});

test('a correction reaches the agent that waits, and no agent that does not', async () => {
  await using one = await begun();
  const { chat } = one;
  const said = await chat.say('no, Paris', set('city', 'Paris'));
  expect(said.at(-1)).toBe('finder resumed 1');
  expect(chat.slot('city')).toBe('Paris');
  await chat.say('pizza', start('food'));
  await chat.say('to Oslo instead', set('city', 'Oslo'));
  const stack = chat.tracker?.['stack'] as readonly { agentId?: string; state?: string }[];
  expect(stack.find(({ agentId }) => agentId === 'finder')?.state).toBe('interrupted');
});

test('asking for the flow that runs already, and saying it again, reach no other agent', async () => {
  await using one = await begun();
  const { chat } = one;
  expect(await chat.say('a journey', start('journey'))).toEqual(['finder continued 1']);
  expect(await chat.say('pardon?', repeat)).toEqual(['finder continued 1']);
  expect(chat.outcome.waitingAgent).toBe('finder');
});

test('interrupted again and again, an agent keeps its place', async () => {
  await using one = await begun();
  const { chat } = one;
  for (let round = 1; round <= 5; round += 1) {
    await chat.say('weather?', start('weather'));
    expect(await chat.say('yes', yes)).toEqual([`finder resumed ${round}`]);
  }
  const stack = chat.tracker?.['stack'] as readonly unknown[];
  expect(stack).toHaveLength(2);
});
