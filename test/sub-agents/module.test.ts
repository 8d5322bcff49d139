import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { continueAgent, set, start } from '../../src/assistant/testing/conversation.ts';
import { talk } from './support.ts';

const APOLOGY = 'Something went wrong on my side. Please try that again.';

function talkWith(module: string, configuration = '', path = 'sub_agents/finder/agent.ts') {
  return talk({
    files: {
      'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel.}
configuration: {module: ./agent.ts${configuration}}
`,
      [path]: module,
    },
  });
}

test('an agent in code is told everything, asks, keeps a little, and completes', async () => {
  await using one = await talkWith(`
export const run = (input, { channel }) => {
  const { step = 0 } = input.metadata;
  if (step === 0) return { id: input.id, status: 'input_required', responseMessage: JSON.stringify({ ...input, channel }), metadata: { step: 1 } };
  return { id: input.id, status: 'completed', responseMessage: 'step ' + step };
};
`);
  const { chat } = one;
  const [text = ''] = await chat.say('to Rome', start('trip'), set('city', 'Rome'));
  const told = JSON.parse(text) as {
    slots: { name: string }[];
    events: { event: string }[];
    metadata: Record<string, unknown>;
  };
  expect(told).toMatchObject({
    userMessage: 'to Rome',
    conversationHistory: 'USER: to Rome',
    recipientId: 'ada',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    channel: 'rest',
    metadata: {
      sender_id: 'ada',
      agent_id: 'finder',
      flow_id: 'trip',
      model_id: one.project.modelId,
      exit_if: ['slots.hotel is not null'],
    },
  });
  expect(told.slots).toContainEqual({ name: 'city', value: 'Rome', type: 'text' });
  expect(told.slots).toContainEqual({
    name: 'hotel',
    value: null,
    type: 'categorical',
    allowedValues: ['Ritz', 'Savoy'],
  });
  // Slots of the engine are nobody's business.
  expect(told.slots.map(({ name }) => name)).not.toContain('mocked_datetime');
  expect(told.events.map(({ event }) => event)).toContain('agent_started');
  expect(await chat.say('on', continueAgent)).toEqual(['step 1', 'Booked None.']);
});

test('errors that may pass lead to further attempts, and what was told on the way is told once', async () => {
  const module = (failures: number) => `
let left = ${failures};
export const run = async ({ id }, { say }) => {
  await say({ text: 'One moment.' });
  left -= 1;
  return left >= 0 ? { id, status: 'recoverable_error', errorMessage: 'busy' } : { id, status: 'completed', responseMessage: 'Done.' };
};
`;
  await using passing = await talkWith(module(3));
  expect(await passing.chat.say('advice', start('chat'))).toEqual([
    'One moment.',
    'Done.',
    'Booked None.',
  ]);
  expect(passing.waits).toEqual([500, 1000, 2000]);
  await using lasting = await talkWith(module(4));
  expect(await lasting.chat.say('advice', start('chat'))).toEqual(['One moment.', APOLOGY]);
  expect(lasting.chat.flowEvents.slice(-2)).toEqual([
    'agent_cancelled finder',
    'flow_cancelled chat',
  ]);
  await using impatient = await talkWith(module(1), ', max_retries: 0');
  expect(await impatient.chat.say('advice', start('chat'))).toEqual(['One moment.', APOLOGY]);
});

for (const [what, module] of [
  ['throws', `export const run = () => { throw new Error('broken'); };`],
  ['answers nothing', `export const run = () => undefined;`],
  [
    'answers with a status that is none',
    `export const run = ({ id }) => ({ id, status: 'done' });`,
  ],
  [
    'has a hook that throws',
    `export const run = ({ id }) => ({ id, status: 'completed' }); export const processInput = () => { throw new Error('broken'); };`,
  ],
  [
    'has a hook for its output that throws',
    `export const run = ({ id }) => ({ id, status: 'completed' }); export const processOutput = () => { throw new Error('broken'); };`,
  ],
  [
    'wants too much to be kept',
    `export const run = ({ id }) => ({ id, status: 'input_required', responseMessage: 'Hm?', metadata: { much: 'x'.repeat(100_000) } });`,
  ],
  ['does not end in its time', `export const run = () => new Promise(() => {});`],
] as const) {
  test(`an agent that ${what} ends its flow with one message, and the conversation continues`, async () => {
    await using one = await talkWith(module, ', timeout: 0.3');
    expect(await one.chat.say('advice', start('chat'))).toEqual([APOLOGY]);
    expect(one.chat.outcome.error).toMatchObject({ type: 'agent_failed' });
    expect(await one.chat.say('weather?', start('weather'))).toEqual(['Sunny.']);
  });
}

test('invalid events are left out, and values are stored as they are, categories as the domain writes them', async () => {
  await using one = await talkWith(`
export const run = ({ id }) => ({
  id,
  status: 'input_required',
  responseMessage: 'Not heard by anybody.',
  events: [null, 7, {}, { event: 'slot', name: 'nights', value: '3' }, { event: 'slot', name: 'nothing', value: 1 }, { event: 'slot', name: 'hotel', value: 'RITZ' }],
});
`);
  // The slot that the flow waits for is filled, in whichever casing.
  expect(await one.chat.say('to Rome', start('trip'), set('city', 'Rome'))).toEqual([
    'Booked Ritz.',
  ]);
  expect(one.chat.slot('nights')).toBe('3');
  expect(one.chat.slot('hotel')).toBe('Ritz');
});

test('an agent cannot flood the user', async () => {
  await using one = await talkWith(`
export const run = async ({ id }, { say }) => {
  for (let count = 0; count < 1000; count += 1) await say({ text: 'word ' + count });
  return { id, status: 'completed', responseMessage: 'x'.repeat(100_000) };
};
`);
  const said = await one.chat.say('advice', start('chat'));
  expect(said).toHaveLength(202);
  expect(said[200]).toHaveLength(32_000);
  expect(one.logged.filter(({ event }) => event === 'sub_agent.progress_dropped')).toHaveLength(1);
});

test('output of an agent after its timeout is dropped', async () => {
  await using one = await talkWith(
    `
export const run = async ({ id }, { say, signal }) => {
  await say({ text: 'Before.' });
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  await say({ text: 'After.' });
  globalThis[Symbol.for('legate.test.late')]?.();
};
`,
    ', timeout: 0.2',
  );
  const late = Promise.withResolvers<void>();
  const key = Symbol.for('legate.test.late');
  Object.assign(globalThis, { [key]: late.resolve });
  try {
    expect(await one.chat.say('advice', start('chat'))).toEqual(['Before.', APOLOGY]);
    await late.promise;
    expect(one.chat.last?.messages).toHaveLength(2);
  } finally {
    Reflect.deleteProperty(globalThis, key);
  }
});

test('a module is found by a path or with dots, in the agent or in the project', async () => {
  const module = `export const run = ({ id }) => ({ id, status: 'completed', responseMessage: 'Here.' });`;
  for (const [named, path] of [
    ['./agent.ts', 'sub_agents/finder/agent.ts'],
    ['agent', 'sub_agents/finder/agent.ts'],
    ['my.helpers.agent', 'my/helpers/agent.ts'],
    ['./helpers', 'helpers/index.ts'],
  ] as const) {
    await using one = await talk({
      files: {
        'sub_agents/finder/config.yml': `
agent: {name: finder, description: Finds a hotel.}
configuration: {module: ${named}}
`,
        [path]: module,
      },
    });
    expect((await one.chat.say('advice', start('chat')))[0]).toBe('Here.');
  }
});

test('a module that is not there, or has nothing to offer, is told at the start', async () => {
  await expect(talkWith('', '', 'elsewhere.ts')).rejects.toThrow(
    'sub agent finder: there is no module ./agent.ts; write a path such as ./agent.ts',
  );
  await expect(talkWith('export const runs = 1;')).rejects.toThrow(
    /exports none of processInput, .*, tools/,
  );
  await expect(talkWith('export const run = 1;')).rejects.toThrow(/run, which isn't a function/);
  await expect(talkWith('export const tools = 1;')).rejects.toThrow(/tools, which isn't an array/);
});

test('closing waits for the turn under way', async () => {
  await using one = await talkWith(`
import { existsSync } from 'node:fs';
export const run = async ({ id, userMessage }) => {
  while (!existsSync(userMessage)) await new Promise((resolve) => setTimeout(resolve, 5));
  return { id, status: 'completed', responseMessage: 'Done.' };
};
`);
  const gate = join(one.directory, 'gate');
  const turn = one.chat.say(gate, start('chat'));
  let isClosed = false;
  const closed = one.chat.assistant.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(isClosed).toBe(false);
  await writeFile(gate, '');
  expect((await turn)[0]).toBe('Done.');
  await closed;
});

test('closing does not wait forever for a turn that hangs', async () => {
  await using one = await talkWith(`export const run = () => new Promise(() => {});`);
  void one.chat.say('advice', start('chat'));
  await expect(one.chat.assistant.close({ graceMs: 10 })).resolves.toBeUndefined();
});
