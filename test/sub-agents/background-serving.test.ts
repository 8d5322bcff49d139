import { expect, test } from 'vitest';
import { agent, completed, working } from '../../src/agents/index.ts';
import { connect } from '../../src/client/index.ts';
import { ManualScheduler } from '../../src/assistant/channels/testing/manual-scheduler.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { serve } from '../../src/http/index.ts';
import { projectFolder } from '../support/greenhouse.ts';

const STILL = 'I am still working on your last request. One moment, please.';

const files = (url: string) => ({
  'config.yml': 'assistant_id: trips\npipeline: [{name: MatchingCommandGenerator}]\n',
  'domain.yml': 'session_config: {start_session_after_expiry: false}\n',
  'data/flows.yml': `
flows:
  find_hotel:
    name: finding a hotel
    description: Find a hotel.
    examples: [find a hotel]
    run_pattern_completed: false
    steps:
      - call: finder
`,
  'endpoints.yml': 'a2a_server: {description: Plans trips.}\nstore: {type: memory}\n',
  'sub_agents/finder/config.yml': `
agent: {name: finder, protocol: a2a, description: Finds a hotel.}
configuration: {agent_card: "${url}", background_after: 0}
`,
});

/** An assistant in front of an agent that works until it is told to end, everything over HTTP. */
async function trips() {
  const tasks: string[] = [];
  const end = Promise.withResolvers<undefined>();
  const desk = await serve(
    agent({ name: 'desk' }, async function* (turn) {
      tasks.push(turn.taskId);
      yield working();
      const aborted = Promise.withResolvers<never>();
      turn.signal.addEventListener('abort', () => aborted.reject(turn.signal.reason as Error));
      await Promise.race([end.promise, aborted.promise]);
      yield completed('Found the Ritz.');
    }),
    { drainMs: 0, cancelGraceMs: 500 },
  );
  const folder = await projectFolder(files(desk.url));
  const scheduler = new ManualScheduler();
  const serving = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
    scheduler,
    enableApi: true,
  });
  return {
    scheduler,
    finish: () => end.resolve(undefined),
    async state(): Promise<string> {
      await using client = await connect(desk.url);
      return (await client.getTask(tasks[0] ?? '')).status.state;
    },
    async say(message: string): Promise<readonly unknown[]> {
      const body = JSON.stringify({ sender: 'ada', message });
      const url = `${serving.url}/webhooks/rest/webhook`;
      const answer = await fetch(url, { method: 'POST', body });
      return ((await answer.json()) as readonly { text?: string }[]).map(({ text }) => text);
    },
    async post(path: string): Promise<number> {
      return (await fetch(serving.url + path, { method: 'POST' })).status;
    },
    async ask(text: string) {
      await using client = await connect(serving.url);
      const answer = await client.sendMessage(text);
      if (!('task' in answer)) throw new Error('no task');
      return answer.task;
    },
    async [Symbol.asyncDispose]() {
      await serving.close();
      await desk.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('3.3: over the channel, a user who speaks while an agent elsewhere works is told so', async () => {
  await using one = await trips();
  expect(await one.say('find a hotel')).toEqual([STILL]);
  expect(await one.say('are you done?')).toEqual([STILL]);
  one.finish();
  await expect.poll(() => one.state()).toBe('TASK_STATE_COMPLETED');
  expect(await one.say('and now?')).toEqual(['Found the Ritz.']);
});

test('an orchestrator sees a question, with the words for its user', async () => {
  await using one = await trips();
  const { status } = await one.ask('find a hotel');
  expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  expect(status.message?.parts[0]?.data).toMatchObject({ active_flow: 'find_hotel' });
  expect(status.message?.parts[1]?.text).toBe(STILL);
});

test('5.2: the timer of a conversation that rests cancels the work elsewhere', async () => {
  await using one = await trips();
  await one.say('find a hotel');
  expect(await one.state()).toBe('TASK_STATE_WORKING');
  await expect
    .poll(() => {
      one.scheduler.advance(10 * 60_000);
      return one.state();
    })
    .toBe('TASK_STATE_CANCELED');
});

test('5.2: POST /cancel_background_tasks/{id} cancels the work elsewhere, and the flow stays', async () => {
  await using one = await trips();
  await one.say('find a hotel');
  expect(await one.post('/cancel_background_tasks/ada')).toBe(200);
  expect(await one.state()).toBe('TASK_STATE_CANCELED');
  expect(await one.post('/cancel_background_tasks/ada')).toBe(200);
  // The next message makes it ask again.
  one.finish();
  const said = await one.say('and now?');
  expect([[STILL], ['Found the Ritz.']]).toContainEqual(said);
});
