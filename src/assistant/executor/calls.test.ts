import { expect, test } from 'vitest';
import type { Command } from '../conversation.ts';
import {
  cancel,
  chitchat,
  continueAgent,
  Conversation,
  repeat,
  set,
  start,
} from '../testing/conversation.ts';
import { project } from '../testing/project.ts';
import { slotSet } from '../tracker/events.ts';
import type { Call, CallHandler, CallOutcome } from './call-handler.ts';

const travel = project({
  domain: `
slots:
  city: {type: text}
  hotel: {type: text, mappings: [{type: controlled}]}
  booking: {type: any, mappings: [{type: controlled}]}
responses:
  utter_ask_city: [{text: "Which city?"}]
  utter_booked: [{text: "Booked {hotel}."}]
  utter_weather: [{text: "Sunny."}]
`,
  flows: `
flows:
  trip:
    name: planning a trip
    description: Plan a trip.
    steps:
      - collect: city
      - call: finder
      - call: payer
      - call: book
        mcp_server: hotels
        mapping:
          input: [{param: hotel, slot: hotel}]
          output: [{slot: booking, value: result}]
      - action: utter_booked
  weather:
    description: How is the weather?
    run_pattern_completed: false
    steps:
      - action: utter_weather
`,
});

const done: CallOutcome = { status: 'completed', messages: [], events: [], metadata: {} };

function asks(text: string, metadata = {}): CallOutcome {
  return { status: 'input-required', messages: [{ text }], events: [], metadata };
}

/** Agents and a tool that answer by a script and note how they were called. */
function scripted(script: Readonly<Record<string, readonly CallOutcome[]>>) {
  const calls: Call[] = [];
  const cancelled: string[] = [];
  const left = new Map(Object.entries(script).map(([name, outcomes]) => [name, [...outcomes]]));
  const handler = (kind: CallHandler['kind']): CallHandler => ({
    kind,
    handles: (step) => (step.mcpServer === undefined ? 'agent' : 'tool') === kind,
    run: (call) => {
      calls.push(call);
      const outcome = left.get(call.step.target)?.shift();
      return outcome === undefined ? Promise.resolve(done) : Promise.resolve(outcome);
    },
    cancel: ({ step }) => Promise.resolve(void cancelled.push(step.target)),
  });
  const chat = new Conversation(travel, { callHandlers: [handler('agent'), handler('tool')] });
  const modes = () => calls.map((call) => `${call.step.target} ${call.mode}`);
  return { chat, calls, cancelled, modes };
}

const MORE = 'Is there anything else I can help you with?';
const toRome = [start('trip'), set('city', 'Rome')] as const;

test('an agent that asks waits on the stack, hears the answer, and the flow continues after it', async () => {
  const { chat, calls, modes } = scripted({
    finder: [
      asks('Which hotel?', { task_id: 't1' }),
      { ...done, messages: [{ text: 'Good.' }], events: [slotSet('hotel', 'Ritz')] },
    ],
  });
  expect(await chat.say('to Rome', ...toRome)).toEqual(['Which hotel?']);
  expect(chat.outcome).toMatchObject({ waitingAgent: 'finder', activeFlow: 'trip', waiting: true });
  expect(chat.tracker?.['latestAction']).toBe('action_agent_request_user_input');
  expect(chat.flowEvents).toEqual(['flow_started trip', 'agent_started finder']);
  expect(await chat.say('the Ritz', continueAgent)).toEqual(['Good.', 'Booked Ritz.', MORE]);
  expect(modes()).toEqual(['finder start', 'finder continue', 'payer start', 'book start']);
  expect(calls[1]).toMatchObject({ metadata: { task_id: 't1' }, userMessage: 'the Ritz' });
  expect(chat.flowEvents).toEqual([
    'agent_completed finder',
    'agent_started payer',
    'agent_completed payer',
    'flow_completed trip',
  ]);
});

test('what an agent says is part of the transcript under its name', async () => {
  const { chat } = scripted({ finder: [asks('Which hotel?')] });
  await chat.say('to Rome', ...toRome);
  expect(chat.tracker?.['transcript']).toEqual([
    { speaker: 'user', text: 'to Rome' },
    { speaker: 'agent', text: 'Which hotel?', agentId: 'finder' },
  ]);
});

test('a message while an agent waits goes to the agent, understood or not', async () => {
  const { chat, modes } = scripted({ finder: [asks('Which hotel?'), asks('Really?')] });
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('qwerty')).toEqual(['Really?']);
  expect(modes()).toEqual(['finder start', 'finder continue']);
});

test('another flow interrupts the agent, and it is resumed when the user wants to continue', async () => {
  const { chat, modes } = scripted({ finder: [asks('Which hotel?'), asks('So, which hotel?')] });
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('weather?', start('weather'))).toEqual([
    'Sunny.',
    'Would you like to continue with planning a trip?',
  ]);
  expect(chat.flowEvents.slice(0, 2)).toEqual([
    'flow_interrupted trip',
    'agent_interrupted finder',
  ]);
  expect(chat.outcome.waitingAgent).toBeUndefined();
  const yes = set('continue_interrupted_flow_confirmation', true);
  expect(await chat.say('yes', yes)).toEqual(['So, which hotel?']);
  expect(chat.flowEvents).toEqual(['flow_resumed trip', 'agent_resumed finder']);
  expect(modes()).toEqual(['finder start', 'finder resume']);
  expect(await chat.say('the Ritz', continueAgent)).toHaveLength(2);
});

test('small talk interrupts the agent, which is resumed by itself', async () => {
  const { chat, modes } = scripted({ finder: [asks('Which hotel?'), asks('So, which hotel?')] });
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('nice day', chitchat)).toEqual([
    "Sorry, I can't help with that.",
    'So, which hotel?',
  ]);
  expect(chat.flowEvents).toEqual(['agent_interrupted finder', 'agent_resumed finder']);
  expect(modes()).toEqual(['finder start', 'finder resume']);
});

test('saying it again does not call the agent', async () => {
  const { chat, modes } = scripted({ finder: [asks('Which hotel?'), done] });
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('pardon?', repeat)).toEqual(['Which hotel?']);
  expect(modes()).toEqual(['finder start']);
  await chat.say('the Ritz', continueAgent);
  expect(modes()[1]).toBe('finder continue');
});

test('a correction is made known to the agent that waits', async () => {
  const { chat, calls, modes } = scripted({
    finder: [asks('Which hotel?'), asks('In Paris, then?')],
  });
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('no, to Paris', set('city', 'Paris'))).toEqual([
    'Alright, I changed city to Paris.',
    'In Paris, then?',
  ]);
  expect(modes()).toEqual(['finder start', 'finder resume']);
  expect(calls[1]?.slots['city']).toBe('Paris');
});

test('the events of agents say where they talk, how they ended and why', async () => {
  const { chat } = scripted({
    finder: [asks('Which hotel?', { context_id: 'c1' }), done],
    payer: [{ status: 'failed', reason: 'out of order' }],
  });
  await chat.say('to Rome', ...toRome);
  await chat.say('the Ritz', continueAgent);
  const agents = chat.log.filter(({ event }) => event.startsWith('agent_'));
  expect(agents).toMatchObject([
    { event: 'agent_started', flow_id: 'trip', agent_id: 'finder', context_id: null },
    { event: 'agent_completed', flow_id: 'trip', agent_id: 'finder', status: 'completed' },
    { event: 'agent_started', flow_id: 'trip', agent_id: 'payer', context_id: null },
    { event: 'agent_cancelled', flow_id: 'trip', agent_id: 'payer', reason: 'out of order' },
  ]);
});

test('cancelling the flow cancels its agent', async () => {
  const { chat, cancelled } = scripted({ finder: [asks('Which hotel?')] });
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('stop', cancel)).toEqual([
    'OK, I will not continue with planning a trip.',
    MORE,
  ]);
  expect(chat.flowEvents).toEqual(['agent_cancelled finder', 'flow_cancelled trip']);
  expect(cancelled).toEqual(['finder']);
});

test('an agent that fails ends the flow with one message', async () => {
  const failed: CallOutcome = { status: 'failed', reason: 'out of order' };
  for (const script of [{ finder: [failed] }, { finder: [asks('Which?'), failed] }]) {
    const { chat } = scripted(script);
    let said = await chat.say('to Rome', ...toRome);
    if (script.finder.length > 1) said = await chat.say('the Ritz', continueAgent);
    expect(said).toEqual(['Something went wrong on my side. Please try that again.']);
    expect(chat.flowEvents.slice(-2)).toEqual(['agent_cancelled finder', 'flow_cancelled trip']);
    expect(chat.outcome.error).toEqual({
      type: 'agent_failed',
      info: { target: 'finder', error_source: 'agent' },
    });
    expect(await chat.say('weather?', start('weather'))).toEqual(['Sunny.']);
  }
});

test('a failing tool and an unknown tool end the flow with one message', async () => {
  const { chat } = scripted({
    book: [{ status: 'failed', reason: 'full', info: { tool: 'book' } }],
  });
  expect(await chat.say('to Rome', ...toRome)).toHaveLength(1);
  expect(chat.outcome.error).toMatchObject({ type: 'tool_failed', info: { tool: 'book' } });
  const bare = new Conversation(travel);
  expect(await bare.say('to Rome', ...toRome)).toHaveLength(1);
  expect(bare.outcome.error).toEqual({ type: 'unknown_call', info: { target: 'finder' } });
});

test('a completed agent is restarted, and a later one that waited is resumed after it', async () => {
  const { chat, modes } = scripted({
    payer: [asks('Which card?', { task_id: 'p' }), asks('And the card?')],
  });
  await chat.say('to Rome', ...toRome);
  expect(chat.outcome.waitingAgent).toBe('payer');
  expect(await chat.say('other hotel', { command: 'restart agent', agent: 'finder' })).toEqual([
    'And the card?',
  ]);
  expect(modes()).toEqual(['finder start', 'payer start', 'finder restart', 'payer resume']);
  expect(chat.flowEvents).toEqual([
    'agent_interrupted payer',
    'agent_started finder',
    'agent_completed finder',
    'agent_resumed payer',
  ]);
});

test('an agent that was set aside is told when its flow is cancelled, or goes another way', async () => {
  const waitingPayer = { finder: [done, asks('Which hotel?')], payer: [asks('Which card?')] };
  const again: Command = { command: 'restart agent', agent: 'finder' };
  const { chat, cancelled } = scripted(waitingPayer);
  await chat.say('to Rome', ...toRome);
  expect(await chat.say('other hotel', again)).toEqual(['Which hotel?']);
  await chat.say('stop', cancel);
  expect(cancelled.toSorted()).toEqual(['finder', 'payer']);
});

test('agents that wait are told when the session ends or starts again', async () => {
  for (const text of ['/session_end', '/restart', '/session_start']) {
    const { chat, cancelled } = scripted({ finder: [asks('Which hotel?')] });
    await chat.say('to Rome', ...toRome);
    await chat.send({ text });
    expect(cancelled, text).toEqual(['finder']);
  }
  const { chat, cancelled } = scripted({ finder: [asks('Which hotel?')] });
  await chat.say('to Rome', ...toRome);
  const { tracker } = chat;
  await chat.assistant.record({ senderId: 'ada', tracker }, [{ event: 'session_ended' }]);
  await chat.assistant.close();
  expect(cancelled).toEqual(['finder']);
});

test('an agent that continues waiting is told nothing', async () => {
  const { chat, cancelled } = scripted({ finder: [asks('Which hotel?'), asks('Which hotel?')] });
  await chat.say('to Rome', ...toRome);
  await chat.say('weather?', start('weather'));
  await chat.say('yes', set('continue_interrupted_flow_confirmation', true));
  expect(cancelled).toEqual([]);
});
