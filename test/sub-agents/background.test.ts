import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agent,
  authRequired,
  completed,
  inputRequired,
  type Turn,
  working,
} from '../../src/agents/index.ts';
import {
  cancel,
  chitchat,
  continueAgent,
  set,
  start,
} from '../../src/assistant/testing/conversation.ts';
import { connect } from '../../src/client/index.ts';
import { serve, type ServeOptions } from '../../src/http/index.ts';
import { talk, type TalkOptions } from './support.ts';

const STILL = 'I am still working on your last request. One moment, please.';
const APOLOGY = 'Something went wrong on my side. Please try that again.';
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const ends = {
  completed: completed('Found the Ritz.'),
  asks: inputRequired('Ritz or Savoy?'),
  'wants a login': authRequired('Log in.'),
};

/** A hotel desk that looks until it is told to stop looking. */
class Desk {
  readonly heard: Turn['message'][] = [];
  readonly tasks: string[] = [];
  url = '';
  #end = Promise.withResolvers<keyof typeof ends>();

  async serve(options: ServeOptions = {}): Promise<this> {
    const server = await serve(this.#agent(), { drainMs: 0, cancelGraceMs: 500, ...options });
    open.push(server);
    this.url = server.url;
    return this;
  }

  finish(how: keyof typeof ends = 'completed'): void {
    this.#end.resolve(how);
  }

  async state(index = 0): Promise<string> {
    await using client = await connect(this.url);
    return (await client.getTask(this.tasks[index] ?? '')).status.state;
  }

  #agent(): Agent {
    const { heard, tasks } = this;
    const ended = this.#end.promise;
    return agent({ name: 'hotels' }, async function* (turn) {
      heard.push(turn.message);
      tasks.push(turn.taskId);
      yield working();
      if (turn.isContinuation) {
        yield completed('The Savoy it is.');
        return;
      }
      const aborted = Promise.withResolvers<never>();
      turn.signal.addEventListener('abort', () => aborted.reject(turn.signal.reason as Error));
      yield ends[await Promise.race([ended, aborted.promise])];
    });
  }
}

function talkTo(
  { url }: { readonly url: string },
  {
    configuration = 'background_after: 0',
    ...options
  }: TalkOptions & { configuration?: string } = {},
) {
  return talk({
    ...options,
    files: {
      'sub_agents/finder/config.yml': `
agent: {name: finder, protocol: a2a, description: Finds a hotel.}
configuration: {agent_card: "${url}", polling_initial_delay: 0.01, ${configuration}}
`,
      ...options.files,
    },
  });
}

for (const streaming of [true, false]) {
  test(`3.3: who speaks while an agent elsewhere works is told so, and gets its answer when it is there (streaming: ${streaming})`, async () => {
    const desk = await new Desk().serve({ streaming });
    await using one = await talkTo(desk);
    const { chat } = one;
    expect(await chat.say('to Rome', start('chat'))).toEqual([STILL]);
    expect(chat.outcome.raised.map(({ flowId }) => flowId)).toContain(
      'pattern_external_agent_processing',
    );
    expect(await chat.say('are you there?', continueAgent)).toEqual([STILL]);
    desk.finish();
    await expect.poll(() => desk.state()).toBe('TASK_STATE_COMPLETED');
    const said = await chat.say('and now?', continueAgent);
    expect(said).toEqual(['Found the Ritz.', 'Booked None.']);
    // What was said meanwhile was no message to the agent.
    expect(desk.heard).toHaveLength(1);
  });
}

test('a question that the agent came to meanwhile is asked, and its answer continues the task', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  const { chat } = one;
  await chat.say('to Rome', start('chat'));
  desk.finish('asks');
  await expect.poll(() => desk.state()).toBe('TASK_STATE_INPUT_REQUIRED');
  expect(await chat.say('well?', continueAgent)).toEqual(['Ritz or Savoy?']);
  let said = await chat.say('Savoy', continueAgent);
  // It may take a moment longer than nothing.
  while (said.includes(STILL)) said = await chat.say('well?', continueAgent);
  expect(said).toEqual(['The Savoy it is.', 'Booked None.']);
  expect(desk.tasks[1]).toBe(desk.tasks[0]);
});

test('what is at work is known to the conversation, not to the process', async () => {
  const desk = await new Desk().serve();
  const first = await talkTo(desk);
  await first.chat.say('to Rome', start('chat'));
  const { tracker } = first.chat;
  await first[Symbol.asyncDispose]();
  expect(await desk.state()).toBe('TASK_STATE_WORKING');
  desk.finish();
  await expect.poll(() => desk.state()).toBe('TASK_STATE_COMPLETED');
  await using second = await talkTo(desk);
  second.chat.tracker = tracker;
  expect(await second.chat.say('hello?', continueAgent)).toEqual([
    'Found the Ritz.',
    'Booked None.',
  ]);
});

test('another flow may come between; the agent is looked at when it is over', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  const { chat } = one;
  await chat.say('to Rome', start('chat'));
  const aside = await chat.say('how is the weather?', start('weather'));
  expect(aside[0]).toBe('Sunny.');
  expect(desk.heard).toHaveLength(1);
  const resumed = await chat.say('yes', set('continue_interrupted_flow_confirmation', true));
  expect(resumed.at(-1)).toBe(STILL);
  desk.finish();
  await expect.poll(() => desk.state()).toBe('TASK_STATE_COMPLETED');
  expect(await chat.say('well?', continueAgent)).toEqual(['Found the Ritz.', 'Booked None.']);
});

test('small talk leaves it at work, and says so', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  await one.chat.say('to Rome', start('chat'));
  expect((await one.chat.say('nice day', chitchat)).at(-1)).toBe(STILL);
  expect(desk.heard).toHaveLength(1);
});

test('who cancels the flow cancels the work elsewhere', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  await one.chat.say('to Rome', start('chat'));
  await one.chat.say('never mind', cancel);
  await expect.poll(() => desk.state()).toBe('TASK_STATE_CANCELED');
});

test('5.2: a conversation that rests cancels the work elsewhere; who comes back has it done again', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  const { chat } = one;
  await chat.say('to Rome', start('chat'));
  const { tracker } = await chat.assistant.record({ senderId: 'ada', tracker: chat.tracker }, [
    { event: 'conversation_inactive' },
  ]);
  chat.tracker = tracker;
  await expect.poll(() => desk.state()).toBe('TASK_STATE_CANCELED');
  desk.finish();
  const said = await chat.say('I am back', continueAgent);
  expect(
    said.every((text) => text === STILL || text === 'Found the Ritz.' || text === 'Booked None.'),
  ).toBe(true);
  await expect.poll(() => desk.state(1)).toBe('TASK_STATE_COMPLETED');
  expect(desk.heard[1]?.contextId).toBe(desk.heard[0]?.contextId);
  expect(desk.tasks[1]).not.toBe(desk.tasks[0]);
});

test('a project has its own words and steps for it', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk, {
    files: {
      'data/patterns.yml': `
flows:
  pattern_external_agent_processing:
    name: patience
    description: Asks for patience.
    steps:
      - action: utter_patience
`,
      'domain.yml': `
slots:
  city: {type: text}
  hotel: {type: categorical, values: [Ritz, Savoy], mappings: [{type: controlled}]}
responses:
  utter_ask_city: [{text: "Which city?"}]
  utter_booked: [{text: "Booked {hotel}."}]
  utter_weather: [{text: "Sunny."}]
  utter_patience:
    - text: "The {{context.agent}} is at it."
      metadata: {template: jinja}
`,
    },
  });
  expect(await one.chat.say('to Rome', start('chat'))).toEqual(['The finder is at it.']);
});

test('a task that is gone when it is looked at ends the flow with one apology', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  const { chat } = one;
  await chat.say('to Rome', start('chat'));
  for (const server of open.splice(0)) await server.close();
  const said = await chat.say('well?', continueAgent);
  expect(said).toEqual([APOLOGY]);
  expect(one.waits.length).toBeGreaterThan(0);
});

test('`timeout` ends work that the user was let go of: its task is cancelled when it is looked at', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk, { configuration: 'background_after: 0, timeout: 90' });
  const { chat } = one;
  expect(await chat.say('to Rome', start('chat'))).toEqual([STILL]);
  chat.clock.advance(80_000);
  expect(await chat.say('well?', continueAgent)).toEqual([STILL]);
  chat.clock.advance(20_000);
  expect(await chat.say('well?', continueAgent)).toEqual([APOLOGY]);
  expect(await desk.state()).toBe('TASK_STATE_CANCELED');
});

test('a result that is there after `timeout`, but before anybody looked, counts', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk, { configuration: 'background_after: 0, timeout: 90' });
  const { chat } = one;
  await chat.say('to Rome', start('chat'));
  desk.finish();
  await expect.poll(() => desk.state()).toBe('TASK_STATE_COMPLETED');
  chat.clock.advance(100_000);
  expect(await chat.say('well?', continueAgent)).toEqual(['Found the Ritz.', 'Booked None.']);
});

for (const streaming of [true, false]) {
  test(`\`timeout\` counts before the user is let go, too, and the task is cancelled (streaming: ${streaming})`, async () => {
    const desk = await new Desk().serve({ streaming });
    const key = streaming ? 'timeout' : 'max_polling_time';
    await using one = await talkTo(desk, { configuration: `background_after: 600, ${key}: 0.3` });
    expect(await one.chat.say('to Rome', start('chat'))).toEqual([APOLOGY]);
    await expect.poll(() => desk.state()).toBe('TASK_STATE_CANCELED');
  });
}

test('`timeout` ends the wait for an agent that never names its task, which is cancelled', async () => {
  const silent = agent({ name: 'silent', replies: 'message' }, async function* (turn) {
    await new Promise((resolve) => {
      turn.signal.addEventListener('abort', resolve, { once: true });
    });
    yield working();
  });
  const server = await serve(silent, { drainMs: 0, cancelGraceMs: 500 });
  open.push(server);
  await using one = await talkTo(server, { configuration: 'background_after: 0, timeout: 0.3' });
  expect(await one.chat.say('to Rome', start('chat'))).toEqual([APOLOGY]);
  await using client = await connect(server.url);
  const states = async () => (await client.listTasks({})).tasks.map(({ status }) => status.state);
  await expect.poll(states, { timeout: 15_000 }).toEqual(['TASK_STATE_CANCELED']);
});

test('a login that the agent came to want meanwhile ends the flow, and its task is cancelled', async () => {
  const desk = await new Desk().serve();
  await using one = await talkTo(desk);
  await one.chat.say('to Rome', start('chat'));
  desk.finish('wants a login');
  await expect.poll(() => desk.state()).toBe('TASK_STATE_AUTH_REQUIRED');
  expect(await one.chat.say('well?', continueAgent)).toEqual(['Log in.']);
  expect(await desk.state()).toBe('TASK_STATE_CANCELED');
});

test('7: agent_started has the context_id that the first message to the agent has', async () => {
  const desk = await new Desk().serve();
  desk.finish('asks');
  await using one = await talkTo(desk, {
    files: {
      'sub_agents/finder/config.yml': `
agent: {name: finder, protocol: a2a, description: Finds a hotel.}
configuration: {agent_card: "${desk.url}"}
`,
    },
  });
  const { chat } = one;
  await chat.say('to Rome', start('chat'));
  const begun = chat.log.filter(({ event }) => event === 'agent_started');
  expect(begun).toMatchObject([{ agent_id: 'finder', context_id: desk.heard[0]?.contextId }]);
  expect(desk.heard[0]?.contextId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  await chat.say('Savoy', continueAgent);
  expect(desk.heard[1]?.contextId).toBe(desk.heard[0]?.contextId);
  // Each run of the agent is a conversation of its own.
  await chat.say('once more', start('chat'));
  expect(desk.heard[2]?.contextId).not.toBe(desk.heard[0]?.contextId);
});
