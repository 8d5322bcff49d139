import { expect, test } from 'vitest';
import { chitchat, continueAgent, set, start } from '../../src/assistant/testing/conversation.ts';
import { reactTalk } from './support.ts';

const toRome = [start('trip'), set('city', 'Rome')] as const;
const rounds = `
flows:
  rounds:
    description: Talk about travelling, then ask.
    run_pattern_completed: false
    steps:
      - call: finder
      - collect: city
`;
const APOLOGY = 'Something went wrong on my side. Please try that again.';

function calls(name: string, input: object, text?: string) {
  return { toolCalls: [{ name, input: input as never }], ...(text !== undefined && { text }) };
}

test('a task-specific agent looks things up, asks, fills its slot silently, and the flow continues', async () => {
  await using one = await reactTalk([
    calls('find_hotels', { city: 'Rome' }, 'Let me look for hotels.'),
    'The Ritz or the Savoy?',
    calls('set_slot_hotel', { slot_value: 'ritz' }, 'Noted.'),
  ]);
  const { chat, model, hotels } = one;
  expect(await chat.say('to Rome', ...toRome)).toEqual([
    'Let me look for hotels.',
    'The Ritz or the Savoy?',
  ]);
  expect(hotels.calls).toEqual({ 'find_hotels Rome': 1 });
  expect(chat.outcome.waitingAgent).toBe('finder');
  expect(await chat.say('the Ritz', continueAgent)).toEqual(['Noted.', 'Booked Ritz.']);
  expect(chat.slot('hotel')).toBe('Ritz');
  expect(model.requests.map(({ tools }) => tools.toSorted())).toEqual(
    Array.from({ length: 3 }, () => ['book', 'find_hotels', 'hang', 'say', 'set_slot_hotel']),
  );
  // What the tool answered is known in the next turn, too.
  expect(model.requests[2]?.promptText).toContain('find_hotels');
  expect(model.requests[2]?.lastUserText).toBe('the Ritz');
  const fillers = chat.log.filter(
    (event) => (event['metadata'] as { filler?: boolean } | undefined)?.filler === true,
  );
  expect(fillers.map((event) => event['text'])).toEqual(['Let me look for hotels.', 'Noted.']);
});

const beside = {
  ...calls('find_hotels', { city: 'Rome' }, 'Let me look for hotels.'),
  chunkDelayMs: 1,
};

test('what the model says is shown as it comes, before the tools run, and not shown again', async () => {
  await using one = await reactTalk([beside, 'The Ritz or the Savoy?']);
  const { chat, hotels, model } = one;
  const seen: string[] = [];
  const pieces: string[] = [];
  const said = await chat.send(
    {
      text: 'to Rome',
      channel: 'rest',
      onChunk: (piece) => {
        if (piece.kind !== 'chunk') return;
        // Nothing is done while the user reads the first words.
        if (pieces.length === 0) expect(hotels.calls).toEqual({});
        pieces.push(piece.text);
      },
      onMessage: ({ text = '', metadata }) => {
        if (metadata?.['streamed'] !== true) seen.push(text);
      },
    },
    ...toRome,
  );
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join('')).toBe('Let me look for hotels.The Ritz or the Savoy?');
  expect(pieces[0]).not.toBe('Let me look for hotels.');
  // The conversation has it whole.
  expect(said).toEqual(['Let me look for hotels.', 'The Ritz or the Savoy?']);
  expect(seen).toEqual([]);
  expect(model.requests.map(({ isStream }) => isStream)).toEqual([true, true]);
  const [filler] = chat.log.filter(({ event }) => event === 'bot');
  expect(filler?.['metadata']).toMatchObject({ filler: true, streamed: true });
});

test.each([
  { whom: 'to orchestrators', channel: 'a2a', isHeard: true },
  { whom: 'where nobody sees pieces', channel: 'rest', isHeard: false },
  { whom: 'where a hook may change it', channel: 'rest', isHeard: true, isHooked: true },
])('what the model says is told whole $whom', async ({ channel, isHeard, isHooked }) => {
  await using one = await reactTalk([beside, 'The Ritz or the Savoy?'], {
    ...(isHooked === true && {
      configuration: ', module: ./agent.ts',
      files: { 'sub_agents/finder/agent.ts': 'export const processOutput = (output) => output;' },
    }),
  });
  const pieces: unknown[] = [];
  const onChunk = (piece: unknown): void => void pieces.push(piece);
  const said = await one.chat.send(
    { text: 'to Rome', channel, ...(isHeard && { onChunk }) },
    ...toRome,
  );
  expect(said).toEqual(['Let me look for hotels.', 'The Ritz or the Savoy?']);
  expect(pieces).toEqual([]);
  expect(one.model.requests.map(({ isStream }) => isStream)).toEqual([false, false]);
});

test('an answer that is cut off is asked for again, and what was shown is a message of its own', async () => {
  await using one = await reactTalk([
    { text: 'The Ritz or the Savoy?', disconnect: 'midway', chunkDelayMs: 20 },
    'The Ritz, or the Savoy?',
  ]);
  const ids = new Set<string>();
  const said = await one.chat.send(
    {
      text: 'to Rome',
      channel: 'rest',
      onChunk: ({ streamId }) => {
        ids.add(streamId);
      },
    },
    ...toRome,
  );
  expect(said).toEqual(['The Ritz, or the Savoy?']);
  expect(ids.size).toBe(2);
});

test('an open-ended agent ends with task_completed and the words beside it', async () => {
  await using one = await reactTalk([
    'Where do you want to go?',
    {
      text: 'Rome is lovely in May.',
      toolCalls: [
        { name: 'find_hotels', input: { city: 'Rome' } },
        { name: 'task_completed', input: {} },
      ],
    },
  ]);
  const { chat, hotels } = one;
  expect(await chat.say('advice', start('chat'))).toEqual(['Where do you want to go?']);
  expect(await chat.say('Rome', continueAgent)).toEqual(['Rome is lovely in May.', 'Booked None.']);
  // Other calls of the same answer are carried out as well.
  expect(hotels.calls).toEqual({ 'find_hotels Rome': 1 });
  expect(chat.flowEvents).toEqual(['agent_completed finder', 'flow_completed chat']);
});

test('an agent that says nothing beside task_completed is asked for a closing line, without tools', async () => {
  await using one = await reactTalk([calls('task_completed', {}), 'Have a good trip.']);
  expect(await one.chat.say('advice', start('chat'))).toEqual([
    'Have a good trip.',
    'Booked None.',
  ]);
  expect(one.model.requests[1]?.tools).toEqual([]);
});

test('a value that the slot does not take is told to the model', async () => {
  await using one = await reactTalk([
    calls('set_slot_hotel', { slot_value: 'Hilton' }),
    calls('set_slot_hotel', { slot_value: 'Savoy' }),
  ]);
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['Booked Savoy.']);
  expect(one.model.requests[1]?.promptText).toContain('use one of Ritz, Savoy');
});

test('tools are chosen by include_tools and exclude_tools', async () => {
  await using included = await reactTalk(['Hm?'], {
    connection: 'name: hotels, include_tools: [find_hotels]',
  });
  await included.chat.say('advice', start('chat'));
  expect(included.model.requests[0]?.tools).toEqual(['task_completed', 'find_hotels']);
  await using excluded = await reactTalk(['Hm?'], {
    connection: 'name: hotels, exclude_tools: [book, hang]',
  });
  await excluded.chat.say('advice', start('chat'));
  expect(excluded.model.requests[0]?.tools).toEqual(['task_completed', 'find_hotels', 'say']);
});

test('meta_map goes along with each call of a tool, and never into a prompt or a log', async () => {
  await using one = await reactTalk([calls('find_hotels', { city: 'Rome' }), 'Which one?'], {
    server:
      ', meta_map: {static: {tenant: acme-17}, from_slots: [{slot: customer, param: customer_id}, {slot: nights, param: nights}]}',
  });
  await one.chat.say('to Rome', ...toRome);
  expect(one.hotels.metas).toEqual([{ tenant: 'acme-17', customer_id: 'ada' }]);
  expect(one.model.requests.map(({ promptText }) => promptText).join()).not.toContain('acme-17');
  expect(JSON.stringify(one.logged)).not.toContain('acme-17');
});

test('filler messages can be turned off, and the prompt says so', async () => {
  await using one = await reactTalk(
    [calls('find_hotels', { city: 'Rome' }, 'Looking.'), 'Which one?'],
    { configuration: ', enable_filler_messages: false' },
  );
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['Which one?']);
  expect(one.model.requests[0]?.promptText).toContain('write nothing beside the call');
});

test('the prompt names the day in the time zone of the agent, or not at all', async () => {
  await using berlin = await reactTalk(['Hm?'], { configuration: ', timezone: Europe/Berlin' });
  await berlin.chat.say('advice', start('chat'));
  expect(berlin.model.requests[0]?.promptText).toMatch(/Now it is .*\(Europe\/Berlin\)/);
  await using none = await reactTalk(['Hm?'], { configuration: ', include_date_time: false' });
  await none.chat.say('advice', start('chat'));
  expect(none.model.requests[0]?.promptText).not.toContain('Now it is');
});

test('a prompt template of the project knows the names of the format', async () => {
  await using one = await reactTalk(['Hm?'], {
    configuration: ', prompt_template: prompt.jinja2',
    files: {
      'sub_agents/finder/prompt.jinja2':
        'D={{ description }} N={{ slot_names | join(",") }} C={{ slots.city }} F={{ enable_filler_messages }} R={{ restarted }} I={{ resumed_after_interruption }}',
    },
  });
  await one.chat.say('to Rome', ...toRome);
  expect(one.model.requests[0]?.messages[0]).toEqual({
    role: 'system',
    text: 'D=Finds a hotel. N=hotel C=Rome F=True R=False I=False',
  });
});

test('the whole run has a time, and a run that takes longer ends the flow with one message', async () => {
  await using one = await reactTalk([{ hang: true }], {
    configuration: ', timeout: 0.2, max_retries: 0',
  });
  expect(await one.chat.say('to Rome', ...toRome)).toEqual([APOLOGY]);
  expect(one.chat.flowEvents.slice(-2)).toEqual(['agent_cancelled finder', 'flow_cancelled trip']);
});

test('a tool that takes too long is told to the model, which continues without it', async () => {
  await using one = await reactTalk([calls('hang', {}), 'I cannot find any.'], {
    configuration: ', tool_timeout: 0.1',
  });
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['I cannot find any.']);
  expect(one.model.requests[1]?.promptText).toMatch(/longer than 0\.1 s|timed? ?out/i);
});

test('failing tools, unknown tools and malformed input are reported to the model', async () => {
  await using one = await reactTalk([
    {
      toolCalls: [
        { name: 'book', input: { hotel: 'Savoy' } },
        { name: 'fly', input: {} },
      ],
    },
    'No room.',
  ]);
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['No room.']);
  const { promptText = '' } = one.model.requests[1] ?? {};
  expect(promptText).toContain('no room left');
  expect(promptText).toContain('unknown tool "fly"');
});

test('an agent that finds no end asks the user, and keeps what it found', async () => {
  await using one = await reactTalk(
    (request) =>
      request.tools.length === 0 ? 'How shall I go on?' : calls('find_hotels', { city: 'Rome' }),
    { configuration: ', max_iterations: 2' },
  );
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['How shall I go on?']);
  expect(one.hotels.calls).toEqual({ 'find_hotels Rome': 2 });
  expect(one.chat.outcome.waitingAgent).toBe('finder');
});

test('structuredResults has every result since the agent became active, over all turns', async () => {
  await using one = await reactTalk(
    [
      calls('find_hotels', { city: 'Rome' }),
      'Which one?',
      calls('find_hotels', { city: 'Oslo' }),
      'Or that?',
    ],
    {
      configuration: ', module: ./agent.ts',
      files: {
        'sub_agents/finder/agent.ts': `
export const processOutput = (output) => ({
  ...output,
  events: [{ event: 'slot', name: 'found', value: output.structuredResults }],
});
`,
      },
    },
  );
  const results = (...cities: string[]) =>
    cities.map(() => [{ name: 'find_hotels', result: { hotels: ['Ritz', 'Savoy'] } }]);
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['Which one?']);
  expect(one.chat.slot('found')).toEqual(results('Rome'));
  expect(await one.chat.say('rather Oslo', continueAgent)).toEqual(['Or that?']);
  expect(one.chat.slot('found')).toEqual(results('Rome', 'Oslo'));
});

test('a model that fails for a moment is asked again; one that refuses ends the flow with one message', async () => {
  const busy = { error: { status: 503, message: 'busy' } };
  await using passing = await reactTalk([busy, busy, 'Which one?']);
  expect(await passing.chat.say('to Rome', ...toRome)).toEqual(['Which one?']);
  expect(passing.waits).toHaveLength(2);
  await using lasting = await reactTalk([busy, busy, busy, busy, 'never asked']);
  expect(await lasting.chat.say('to Rome', ...toRome)).toEqual([APOLOGY]);
  await using refusing = await reactTalk([{ error: { status: 400, message: 'no' } }]);
  expect(await refusing.chat.say('to Rome', ...toRome)).toEqual([APOLOGY]);
  expect(refusing.waits).toEqual([]);
  expect(refusing.chat.outcome.error).toEqual({
    type: 'agent_failed',
    info: { target: 'finder', error_source: 'agent' },
  });
});

test('a module changes what the agent is told, adds tools, and makes slots of results', async () => {
  await using one = await reactTalk(
    [
      {
        toolCalls: [
          { name: 'find_hotels', input: { city: 'Rome' } },
          { name: 'count_nights', input: { from: 3, to: 7 } },
        ],
      },
      calls('count_nights', { from: 'x' }),
      'Which one?',
    ],
    {
      configuration: ', module: ./agent.ts',
      files: {
        'sub_agents/finder/agent.ts': `
import { subAgentTool } from '${new URL('../../src/assistant/sub-agents/model.ts', import.meta.url).href}';
export const processInput = (input) => ({
  ...input,
  userMessage: input.userMessage.toUpperCase(),
  slots: input.slots.filter(({ name }) => name !== 'customer'),
  metadata: { ...input.metadata, trip: 'r-1' },
});
export const processToolOutput = ({ current, cumulative, channel }) =>
  current
    .filter(({ name }) => name === 'find_hotels')
    .map(({ result }) => ({ event: 'slot', name: 'found', value: [result, cumulative.length, channel] }));
export const processOutput = (output) => ({ ...output, responseMessage: output.responseMessage + '!' });
export const tools = [
  subAgentTool({
    name: 'count_nights',
    description: 'Counts nights.',
    input: { type: 'object', properties: { from: { type: 'number' }, to: { type: 'number' } } },
    async run({ from, to }, { metadata }) {
      if (typeof from !== 'number') throw new Error('from must be a number');
      return { nights: to - from, trip: metadata.trip };
    },
  }),
];
`,
      },
      server: ', meta_map: {from_slots: [{slot: customer, param: customer_id}]}',
    },
  );
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['Which one?!']);
  const { requests } = one.model;
  expect(requests[0]?.lastUserText).toBe('TO ROME');
  expect(requests[1]?.promptText).toContain('{"nights":4,"trip":"r-1"}');
  expect(requests[2]?.promptText).toContain('the input is not valid: from: Invalid input');
  expect(one.chat.slot('found')).toEqual([{ hotels: ['Ritz', 'Savoy'] }, 1, 'rest']);
  // A slot that the module took away is not sent to tools either.
  expect(one.hotels.metas).toEqual([{}]);
});

test('an agent started again finds its slots empty, and one that is done already does not start', async () => {
  await using one = await reactTalk([
    calls('set_slot_hotel', { slot_value: 'Ritz' }),
    calls('set_slot_hotel', { slot_value: 'Savoy' }),
  ]);
  const { chat, model } = one;
  expect(await chat.say('to Rome', ...toRome)).toEqual(['Booked Ritz.']);
  expect(chat.slot('hotel')).toBe('Ritz');
  expect(await chat.say('to Rome again', ...toRome)).toEqual(['Booked Savoy.']);
  expect(model.requests).toHaveLength(2);
  await chat.send({ text: '/restart' });
  const given = await chat.assistant.record({ senderId: 'ada', tracker: chat.tracker }, [
    { event: 'slot', name: 'hotel', value: 'Ritz' },
  ]);
  chat.tracker = given.tracker;
  expect(await chat.say('to Rome', ...toRome)).toEqual(['Booked Ritz.']);
  expect(model.requests).toHaveLength(2);
});

test('a model that is resumed knows what it had said, and that the message was not for it', async () => {
  await using one = await reactTalk(['Which one?', 'So, which one?', 'And now?']);
  const { chat, model } = one;
  await chat.say('to Rome', ...toRome);
  expect((await chat.say('nice day', chitchat)).at(-1)).toBe('So, which one?');
  expect(model.requests[1]?.promptText).toContain('You had said: Which one?');
  expect(model.requests[1]?.lastUserText).toBe('(Answered already: nice day)');
  await chat.say('weather?', start('weather'));
  await chat.say('yes', set('continue_interrupted_flow_confirmation', true));
  expect(model.requests[2]?.promptText).toContain('You had said: So, which one?');
});

test('a model that is restarted sees in brackets what belongs to the time before', async () => {
  await using one = await reactTalk(
    ['Where to?', calls('task_completed', {}, 'Rome it is.'), 'Where to, this time?', 'Which day?'],
    { files: { 'data/flows.yml': rounds } },
  );
  const { chat, model } = one;
  await chat.say('advice', start('rounds'));
  await chat.say('Rome', continueAgent);
  expect(await chat.say('once more', { command: 'restart agent', agent: 'finder' })).toEqual([
    'Where to, this time?',
  ]);
  const shown = (index: number) => model.requests[index]?.messages.slice(1).map(({ text }) => text);
  expect(shown(2)).toEqual([
    '[advice]',
    '[Where to?]',
    '[Rome]',
    '[Rome it is.]',
    '[Which city?]',
    'once more',
  ]);
  expect(model.requests[2]?.promptText).toContain('The user wants to do this once more');
  await chat.say('Paris', continueAgent);
  expect(shown(3)?.slice(-3)).toEqual(['once more', 'Where to, this time?', 'Paris']);
});

test('reasoning of a model is not shown', async () => {
  await using one = await reactTalk([
    { text: '<think>The user is rude.</think>Which one?', reasoning: 'hm' },
  ]);
  expect(await one.chat.say('to Rome', ...toRome)).toEqual(['Which one?']);
});
