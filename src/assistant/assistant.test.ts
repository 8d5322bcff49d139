import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../protocol/index.ts';
import { InProcessActions } from './actions/in-process.ts';
import { RemoteActions } from './actions/remote.ts';
import { defineAction, firstOf } from './actions/runner.ts';
import type { AssistantOptions } from './assistant-options.ts';
import { cancel, Conversation, set, start } from './testing/conversation.ts';
import { parcelActions, parcels } from './testing/parcels.ts';
import { project } from './testing/project.ts';
import { slotSet } from './tracker/events.ts';

const office = parcels();

function open(options: Partial<AssistantOptions> = {}): Conversation {
  return new Conversation(office, { actions: parcelActions, ...options });
}

const SORRY = 'Something went wrong on my side. Please try that again.';
const MORE = 'Is there anything else I can help you with?';

// ---- Failures -------------------------------------------------------------------------------------

test('an action that fails ends its flow with one message, and the conversation continues', async () => {
  const chat = open();
  await chat.say('break', start('broken'));
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual([SORRY]);
  expect(chat.outcome).toMatchObject({
    error: { type: 'action_failed', info: { action: 'action_break' } },
    cancelledFlows: [{ flowId: 'broken' }],
    userFlows: [],
    patterns: [],
    waiting: true,
  });
  expect(chat.slot('recipient')).toBeNull();
  expect(await chat.say('track', start('track_parcel'))).toEqual(['What is the code?']);
});

test('a flow that was interrupted by one that failed is offered again', async () => {
  const chat = open();
  await chat.say('hold my mail', start('hold_mail'));
  await chat.say('break', start('broken'));
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual([
    SORRY,
    'Would you like to continue with holding mail?',
  ]);
});

test('a generator that fails costs one message and leaves the flow where it was', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  const broken = open({
    generator: { name: 'broken', generate: () => Promise.reject(new Error('the model is down')) },
  });
  broken.tracker = chat.tracker;
  expect(await broken.say('Bob')).toEqual([SORRY, 'Who is it for?']);
  expect(broken.outcome.error?.type).toBe('rasa_internal_error_command_generation');
});

test('an abort is thrown and not turned into a message', async () => {
  const abort = new AbortController();
  const chat = open({
    generator: {
      name: 'aborted',
      generate: ({ signal }) => {
        abort.abort(new Error('cancelled'));
        return Promise.reject(signal.reason as Error);
      },
    },
  });
  await expect(chat.send({ text: 'hi', signal: abort.signal })).rejects.toThrow('cancelled');
});

test('flows that go round in circles are aborted with one message', async () => {
  const circles = project({
    flows: `
flows:
  ping: {description: Links on., steps: [{link: pong}]}
  pong: {description: Links back., steps: [{link: ping}]}
  spin:
    description: Goes nowhere.
    steps: [{id: here, noop: true, next: here}]
`,
  });
  for (const flow of ['ping', 'spin']) {
    const chat = new Conversation(circles);
    expect(await chat.say('go', start(flow))).toEqual([SORRY]);
    expect(chat.outcome).toMatchObject({
      waiting: true,
      userFlows: [],
      error: { type: 'too_many_steps' },
    });
  }
});

test('an action that asks for itself forever is aborted', async () => {
  const chat = open({
    actions: {
      has: () => true,
      run: async ({ name }) => ({ messages: [], events: [{ event: 'followup', name }] }),
    },
  });
  await chat.say('break', start('broken'));
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual([SORRY]);
  expect(chat.outcome.error?.type).toBe('too_many_steps');
  expect(await chat.say('hours', start('opening_hours'))).toEqual(['Open from 9 to 5.', MORE]);
});

test('failures on the way to an apology add no second one', async () => {
  const chat = new Conversation(gadgets, {
    actions: { has: () => true, run: () => Promise.reject(new Error('down')) },
  });
  expect(await chat.say('hm', { command: 'error', errorType: 'x', info: {} })).toEqual([SORRY]);
});

test('an error pattern that fails itself still says one thing', async () => {
  const chat = new Conversation(
    parcels({
      flows: `
  pattern_internal_error:
    description: Fails.
    steps: [{action: action_break}]
`,
    }),
    { actions: parcelActions },
  );
  await chat.say('break', start('broken'));
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual([SORRY]);
  expect(await chat.say('track', start('track_parcel'))).toEqual(['What is the code?']);
});

test('a message of ten megabytes is refused and not kept', async () => {
  const chat = open();
  expect(await chat.send({ text: 'x'.repeat(10_000_000) })).toHaveLength(1);
  expect(JSON.stringify(chat.tracker).length).toBeLessThan(20_000);
  expect(JSON.stringify(chat.log).length).toBeLessThan(30_000);
});

test('a slot value that is too large for a conversation is a failure', async () => {
  const chat = open({
    actions: {
      has: () => true,
      run: async () => ({ messages: [], events: [slotSet('receipt', 'x'.repeat(100_000))] }),
    },
  });
  await chat.say('break', start('broken'));
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual([SORRY]);
  expect(chat.outcome.error?.type).toBe('slot_too_large');
});

test('a question without words ends the flow', async () => {
  const chat = new Conversation(
    project({
      domain: 'slots: {colour: {type: text}}',
      flows: 'flows: {paint: {description: Paint., steps: [{collect: colour}]}}',
    }),
  );
  expect(await chat.say('paint', start('paint'))).toEqual([SORRY]);
  expect(chat.outcome.error).toEqual({ type: 'no_question', info: { slot: 'colour' } });
});

// ---- Actions --------------------------------------------------------------------------------------

const gadgets = project({
  domain: `
slots: {gadget: {type: text}, seen: {type: float, mappings: [{type: controlled, run_action_every_turn: action_count}]}}
actions: [action_ask_gadget, action_stream, action_count, action_next, action_session_start]
responses:
  utter_fee: [{text: "Fee {fee} for {gadget}"}]
`,
  flows: `
flows:
  buy: {description: Buy., steps: [{collect: gadget}, {action: action_stream}]}
  chain: {description: Chain., steps: [{action: action_next}]}
`,
});

const gadgetActions = new InProcessActions([
  defineAction({
    name: 'action_ask_gadget',
    run: async ({ utter }) =>
      utter({ text: 'Which one?', buttons: [{ title: 'Lamp', payload: 'lamp' }] }),
  }),
  defineAction({
    name: 'action_stream',
    run: async ({ stream, utterResponse }) => {
      await stream.chunk('One ');
      await stream.chunk('lamp.');
      await stream.end();
      utterResponse('utter_fee', { fee: 3 });
    },
  }),
  defineAction({
    name: 'action_count',
    run: async ({ slots, setSlot }) => setSlot('seen', Number(slots['seen'] ?? 0) + 1),
  }),
  defineAction({
    name: 'action_next',
    run: async ({ tracker, emit }) => {
      const { latest_message: message } = await tracker();
      emit({ event: 'followup', name: 'utter_fee' });
      emit(slotSet('gadget', (message as JsonObject)['text'] ?? null));
    },
  }),
  defineAction({ name: 'action_session_start', run: async ({ utter }) => utter('Welcome.') }),
]);

test('an action may ask instead of a response', async () => {
  const chat = new Conversation(gadgets, { actions: gadgetActions });
  expect(await chat.say('buy', start('buy'))).toEqual(['Welcome.', 'Which one?']);
  expect(chat.last?.messages[1]?.buttons).toEqual([{ title: 'Lamp', payload: 'lamp' }]);
});

test('an action may ask for another one, and sees the whole tracker', async () => {
  const chat = new Conversation(gadgets, { actions: gadgetActions });
  expect(await chat.say('a lamp', start('chain'))).toEqual([
    'Welcome.',
    'Fee {fee} for a lamp',
    MORE,
  ]);
});

test('the action that a step names as its question asks', async () => {
  const chat = new Conversation(
    project({
      domain: 'slots: {colour: {type: text}}\nactions: [action_palette]',
      flows:
        'flows: {paint: {description: Paint., steps: [{collect: colour, utter: action_palette}]}}',
    }),
    {
      actions: new InProcessActions([
        defineAction({ name: 'action_palette', run: async ({ utter }) => utter('Red or blue?') }),
      ]),
    },
  );
  expect(await chat.say('paint', start('paint'))).toEqual(['Red or blue?']);
});

test('an action that keeps a slot runs on every message', async () => {
  const chat = new Conversation(gadgets, { actions: gadgetActions });
  await chat.say('hm');
  await chat.say('hm');
  expect(chat.slot('seen')).toBe(2);
});

test('an action that keeps a slot and fails is logged, and users do not see it', async () => {
  const failing = defineAction({
    name: 'action_count',
    run: () => Promise.reject(new Error('the shelf is locked')),
  });
  const chat = new Conversation(gadgets, {
    actions: firstOf(new InProcessActions([failing]), gadgetActions),
  });
  expect(await chat.say('buy', start('buy'))).toEqual(['Welcome.', 'Which one?']);
});

test('an action server that answers 400 has rejected the action, and the log says so', async () => {
  const server = createServer((_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end('{"error": "not now", "action_name": "action_book"}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const chat = open({ actions: new RemoteActions({ url: `http://127.0.0.1:${port}/webhook` }) });
  expect(await chat.say('break', start('broken'), set('recipient', 'Bob'))).toEqual([SORRY]);
  const rejected = chat.last?.events.find(({ event }) => event === 'action_execution_rejected');
  expect(rejected).toMatchObject({ name: 'action_break', policy: 'flows', confidence: 1 });
  expect(chat.outcome.error).toMatchObject({ type: 'action_failed' });
});

test('messages and pieces are handed out as they come', async () => {
  const chat = new Conversation(gadgets, { actions: gadgetActions });
  const seen: string[] = [];
  await chat.say('buy', start('buy'));
  await chat.assistant.handle({
    senderId: 'ada',
    tracker: chat.tracker,
    text: '/SetSlots(gadget=lamp)',
    onChunk: (piece) => void seen.push(piece.kind === 'chunk' ? piece.text : piece.kind),
    onMessage: (message) => void seen.push(`message: ${message.text}`),
  });
  expect(seen).toEqual([
    'start',
    'One ',
    'lamp.',
    'end',
    'message: One lamp.',
    'message: Fee 3 for lamp',
    `message: ${MORE}`,
  ]);
});

// ---- Slots ----------------------------------------------------------------------------------------

test('the domain validates a slot at once, and asks until it is valid', async () => {
  const chat = open();
  await chat.say('an office', start('find_office'));
  expect(await chat.say('12', set('postcode', '12'))).toEqual([
    'A postcode has five digits.',
    'Your postcode?',
  ]);
  expect(await chat.say('123', set('postcode', '123'))).toHaveLength(2);
  expect(chat.tracker?.['stack']).toHaveLength(3);
  expect(await chat.say('12345', set('postcode', '12345'))).toEqual([
    'The office in 12345 is open.',
    MORE,
  ]);
});

const letters = project({
  domain: `
slots:
  postcode:
    type: text
    validation:
      rejections:
        - if: not slots.postcode matches "^[0-9]{5}$"
          utter: utter_postcode_invalid
actions: [action_guess]
responses:
  utter_ask_postcode: [{text: "Your postcode?"}]
  utter_postcode_invalid: [{text: "A postcode has five digits."}]
  utter_office: [{text: "The office in {postcode} is open."}]
`,
  flows: `
flows:
  by_action:
    description: An action fills the slot.
    steps: [{action: action_guess}, {action: utter_office}]
  by_step:
    description: A step fills the slot.
    steps: [{set_slots: [{postcode: '12'}]}, {action: utter_office}]
  by_agent:
    description: An agent fills the slot.
    steps: [{call: guesser}, {action: utter_office}]
`,
});

test.each(['by_action', 'by_step', 'by_agent'])(
  'the domain validates a slot at once, whatever fills it: %s',
  async (flow) => {
    const events = [slotSet('postcode', '12')];
    const chat = new Conversation(letters, {
      actions: { has: () => true, run: () => Promise.resolve({ messages: [], events }) },
      callHandlers: [
        {
          kind: 'agent',
          handles: () => true,
          run: () => Promise.resolve({ status: 'completed', messages: [], events, metadata: {} }),
        },
      ],
    });
    const refused = ['A postcode has five digits.', 'Your postcode?'];
    expect(await chat.say('go', start(flow))).toEqual(refused);
    expect(await chat.say('123', set('postcode', '123'))).toEqual(refused);
    expect(await chat.say('12345', set('postcode', '12345'))).toEqual([
      'The office in 12345 is open.',
      MORE,
    ]);
  },
);

test('an agent that asks while the domain refuses its value continues with a valid one', async () => {
  const seen: unknown[] = [];
  const chat = new Conversation(letters, {
    callHandlers: [
      {
        kind: 'agent',
        handles: () => true,
        run: ({ mode, slots }) => {
          seen.push([mode, slots['postcode']]);
          if (seen.length > 1) {
            return Promise.resolve({ status: 'completed', messages: [], events: [], metadata: {} });
          }
          return Promise.resolve({
            status: 'input-required',
            messages: [{ text: 'Is it far?' }],
            events: [slotSet('postcode', '12')],
            metadata: {},
          });
        },
      },
    ],
  });
  expect(await chat.say('go', start('by_agent'))).toEqual([
    'Is it far?',
    'A postcode has five digits.',
    'Your postcode?',
  ]);
  expect(await chat.say('12345', set('postcode', '12345'))).toContain(
    'The office in 12345 is open.',
  );
  expect(seen).toEqual([
    ['start', null],
    ['resume', '12345'],
  ]);
});

test('a validating action may refuse and may rewrite an answer', async () => {
  const chat = open();
  await chat.say('track', start('track_parcel'));
  expect(await chat.say('q7', set('code', 'q7'))).toEqual([
    'Codes begin with P.',
    'What is the code?',
  ]);
  expect(await chat.say('p7', set('code', 'p7'))).toEqual(['Parcel P7 is on its way.', MORE]);
});

test('slots of an orchestrator fill what the user did not say, and nothing else', async () => {
  const slots = {
    recipient: 'Eve',
    weight: '2',
    service: 'teleport',
    language: 'de',
    colour: 'red',
  };
  const chat = open({
    generator: {
      name: 'scripted',
      generate: async () => [start('send_parcel'), set('recipient', 'Bob')],
    },
  });
  expect(await chat.send({ text: 'send a parcel to Bob', slots })).toEqual([
    'Standard or express?',
  ]);
  expect(chat.outcome.slots).toEqual({ recipient: 'Bob', weight: 2 });
  expect(await chat.send({ text: '', slots: { service: 'EXPRESS' } })).toEqual([
    'Which phone number may we call?',
  ]);
  expect(chat.slot('service')).toBe('express');
  await chat.send({ text: '', slots: { weight: 'none' } });
  expect(chat.slot('weight')).toBeNull();
});

test('slots that two flows share are kept until the last of them ends', async () => {
  const chat = open();
  await chat.say('send to Bob', start('send_parcel'), set('recipient', 'Bob'));
  await chat.say('break', start('broken'));
  expect(chat.outcome.userFlows).toEqual(['send_parcel']);
  expect(chat.slot('recipient')).toBe('Bob');
  await chat.say('no', cancel);
  expect(chat.slot('recipient')).toBeNull();
});

// ---- The conversation itself ----------------------------------------------------------------------

test('a conversation starts with one session, also when its first message starts one', async () => {
  const chat = open();
  await chat.send({ text: '/session_start', metadata: { user: 'u' } });
  const started = chat.log.filter((event) => event.event === 'session_started');
  expect(started).toHaveLength(1);
  expect(chat.slot('session_started_metadata')).toEqual({ user: 'u' });
});

test('a greeting of the project is said once', async () => {
  const chat = new Conversation(gadgets, { actions: gadgetActions });
  expect(await chat.send({ text: '/session_start' })).toEqual(['Welcome.']);
});

const HOUR = 3_600_000;

test('after a long silence the conversation continues under a new session id', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  const first = chat.tracker?.['sessionId'];
  chat.clock.advance(HOUR + 60_000);
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual(['How heavy is it?']);
  expect(chat.tracker?.['sessionId']).not.toBe(first);
  expect(chat.log.filter((event) => event.event === 'session_started')).toHaveLength(1);
});

test.each([
  [true, 'red'],
  [false, null],
])('where silence starts a session, slots are carried over: %s', async (carry, expected) => {
  const chat = new Conversation(
    project({
      domain: `
slots: {colour: {type: text}}
responses: {utter_ask_colour: [{text: "Which?"}]}
session_config: {session_expiration_time: 60, carry_over_slots_to_new_session: ${carry}}
`,
      flows:
        'flows: {paint: {description: P., persisted_slots: [colour], run_pattern_completed: false, steps: [{collect: colour}]}}',
    }),
  );
  await chat.say('red', start('paint'), set('colour', 'red'));
  chat.clock.advance(HOUR + 1);
  await chat.say('hm');
  expect(chat.slot('colour')).toBe(expected);
  expect(chat.log.filter((event) => event.event === 'session_started')).toHaveLength(2);
});

test('an inactive conversation keeps its flow', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  const inactive = await chat.assistant.record({ senderId: 'ada', tracker: chat.tracker }, [
    { event: 'conversation_inactive' },
  ]);
  chat.tracker = inactive.tracker;
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual(['How heavy is it?']);
});

test('slots set from outside take their type, and the stack cannot be set', async () => {
  const chat = open();
  const { outcome } = await chat.assistant.record({ senderId: 'ada', tracker: undefined }, [
    { event: 'slot', name: 'weight', value: '7' },
    { event: 'slot', name: 'service', value: 'teleport' },
    { event: 'stack', update: '[]' },
  ]);
  expect(outcome.slots).toEqual({ weight: 7 });
});

test('a paused conversation records what is said and says nothing', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  const paused = await chat.assistant.record({ senderId: 'ada', tracker: chat.tracker }, [
    { event: 'pause' },
  ]);
  chat.tracker = paused.tracker;
  expect(await chat.say('Bob', set('recipient', 'Bob'))).toEqual([]);
  expect(chat.outcome.waiting).toBe(false);
  expect(chat.last?.events.map((event) => event.event)).toEqual(['user']);
});

test('a session that ended takes no more messages and no more events', async () => {
  const chat = open();
  await chat.send({ text: '/session_end' });
  expect(chat.outcome).toMatchObject({ ended: true, waiting: false });
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual([]);
  expect(chat.last?.events).toEqual([]);
  await expect(
    chat.assistant.record({ senderId: 'ada', tracker: chat.tracker }, [{ event: 'pause' }]),
  ).rejects.toThrow('conversation ada has ended');
});

test('a restart forgets everything', async () => {
  const chat = open();
  await chat.say('send to Bob', start('send_parcel'), set('recipient', 'Bob'));
  await chat.send({ text: '/restart' });
  expect(chat.outcome.userFlows).toEqual([]);
  expect(chat.slot('recipient')).toBeNull();
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual(['Who is it for?']);
});

test('silence is met three times, and a word in between starts the count again', async () => {
  const silence = { text: '/silence_timeout' };
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  expect(await chat.send(silence)).toEqual(['Who is it for?']);
  expect(await chat.send(silence)).toEqual(['Are you still with me?']);
  expect(await chat.say('yes yes')).toHaveLength(2);
  expect(await chat.send(silence)).toHaveLength(2);
  expect(await chat.send(silence)).toEqual(['Are you still with me?']);
  expect(await chat.send(silence)).toEqual([
    'I have not heard from you, so I am ending our conversation. Goodbye.',
  ]);
  expect(chat.outcome.ended).toBe(true);
});

test('an intent starts its flow past any guard', async () => {
  expect(await open().send({ text: '/ask_hours' })).toEqual(['Open from 9 to 5.', MORE]);
});

test('the user is asked for a rating once per session', async () => {
  const chat = open();
  const no = set('continue_conversation', false);
  await chat.say('hours', start('opening_hours'));
  expect(await chat.say('no', no)).toEqual([
    'Thank you for chatting. Goodbye.',
    'Are you satisfied with how this went?',
  ]);
  expect(await chat.send({ text: '/SetSlots(csat_score=satisfied)' })).toEqual([
    'That is good to hear.',
  ]);
  await chat.say('hours', start('opening_hours'));
  expect(await chat.say('no', no)).toEqual(['Thank you for chatting. Goodbye.']);
  expect(await chat.say('hours', start('opening_hours'))).toHaveLength(2);
  expect(await chat.say('yes', set('continue_conversation', true))).toEqual(['Sure. What is it?']);
});

test('a flow that changed under the conversation is abandoned with a word, and the message is heard', async () => {
  const chat = open();
  await chat.say('send a parcel', start('send_parcel'));
  const flows = new Map(office.flows);
  flows.delete('send_parcel');
  const after = new Conversation({ ...office, flows }, { actions: parcelActions });
  after.tracker = chat.tracker;
  expect(await after.say('track', start('track_parcel'))).toEqual([
    'I was just updated and lost track of our conversation. Please start again.',
    'What is the code?',
  ]);
});

test('a step that changed under the conversation is abandoned as well', async () => {
  const chat = open();
  await chat.say('to Bob', start('send_parcel'), set('recipient', 'Bob'));
  const parcel = office.flows.get('send_parcel');
  if (parcel === undefined) throw new Error('no flow');
  const stack = chat.tracker?.['stack'] as readonly JsonObject[] | undefined;
  const renamed = [...parcel.steps].filter(([id]) => id !== stack?.[0]?.['stepId']);
  const flows = new Map(office.flows).set(parcel.id, { ...parcel, steps: new Map(renamed) });
  const after = new Conversation({ ...office, flows }, { actions: parcelActions });
  after.tracker = chat.tracker;
  const [told] = await after.say('track', start('track_parcel'));
  expect(told).toMatch(/^I was just updated/);
  expect(after.flowEvents).toContain('flow_cancelled send_parcel');
});

test('what a flow persists outlives it, and the rest does not', async () => {
  const chat = open();
  await chat.say('hold', start('hold_mail'), set('from_day', 1), set('to_day', 2));
  await chat.say('yes', set('hold_confirm', true));
  expect([chat.slot('from_day'), chat.slot('to_day')]).toEqual([null, 2]);
  await chat.say('hours', start('opening_hours'));
  expect(chat.slot('to_day')).toBe(2);
});

test('the end of a turn tells how long understanding and acting took', async () => {
  const chat = open({ generator: slow() });
  await chat.say('hours');
  const heard = chat.last?.events.find(({ event }) => event === 'user');
  expect(heard).toMatchObject({ parse_data: { flows_in_prompt: ['opening_hours'] } });
  expect(chat.last?.events.at(-1)).toMatchObject({
    name: 'action_listen',
    metadata: { execution_times: { command_processor: 30, prediction_loop: 0 } },
  });

  /** Takes 30 milliseconds, and tells what it showed to its model. */
  function slow(): AssistantOptions['generator'] {
    return {
      name: 'slow',
      generate: ({ onFlows }) => {
        chat.clock.advance(30);
        onFlows?.(['opening_hours']);
        return Promise.resolve([start('opening_hours')]);
      },
    };
  }
});

test('a conversation that its caller gives up loses its flows without a word', async () => {
  const chat = open();
  await chat.say('send to Bob', start('send_parcel'), set('recipient', 'Bob'));
  const result = await chat.assistant.abandon({ senderId: 'ada', tracker: chat.tracker });
  expect(result.messages).toEqual([]);
  expect(result.outcome).toMatchObject({
    userFlows: [],
    slots: {},
    cancelledFlows: [{ flowId: 'send_parcel' }],
  });
});
