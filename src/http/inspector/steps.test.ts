import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agentTool,
  llmAgent,
  remoteAgent,
  stepsExtension,
  tool,
} from '../../agents/index.ts';
import { connect } from '../../client/index.ts';
import { scriptedModel } from '../../models/index.ts';
import { isJsonObject, message } from '../../protocol/index.ts';
import { serve, type ServeOptions, type Serving } from '../serve.ts';
import type { StepsView, TaskListView } from './model.ts';

const open: Serving[] = [];
afterEach(async () => {
  for (const serving of open.splice(0)) await serving.close();
});

const token = 'the-token-of-the-inspector-in-tests';

async function inspected(agent: Agent, options: ServeOptions = {}) {
  const serving = await serve(agent, { drainMs: 0, inspect: { token }, ...options });
  open.push(serving);
  const get = async <T>(path: string): Promise<T> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${serving.url}/inspect/api/${path}`, { headers });
    return (await answer.json()) as T;
  };
  const steps = async (): Promise<StepsView> => {
    const { tasks } = await get<TaskListView>('tasks');
    const [task] = tasks;
    return task === undefined
      ? { turns: [], isLive: true }
      : get<StepsView>(`tasks/${task.id}/steps`);
  };
  return { url: serving.url, client: await connect(serving.url), steps };
}

const calls = (name: string, input: object) => ({
  toolCalls: [{ name, input: input as never, id: `call_${name}` }],
});

const weather = (run: () => unknown) =>
  tool({ name: 'weather', description: 'Says the weather.', run: async () => run() });

test('the steps of an agent have prompt, model, tokens, and calls with arguments and results', async () => {
  const model = scriptedModel([
    { ...calls('weather', { city: 'Bern' }), usage: { input: 30, output: 5 } },
    'It rains.',
  ]);
  const agent = llmAgent({
    name: 'clerk',
    model,
    instruction: 'Be brief.',
    tools: [weather(() => ({ sky: 'rain' }))],
  });
  const { client, steps } = await inspected(agent);
  await client.ask('How is Bern?');
  const { turns, isLive } = await steps();
  expect(isLive).toBe(false);
  expect(turns).toMatchObject([
    {
      attempt: 1,
      steps: [
        { id: 1, kind: 'agent', name: 'clerk', state: 'done' },
        {
          id: 2,
          parent: 1,
          kind: 'model',
          name: model.modelId,
          state: 'done',
          model: {
            prompt: [
              { role: 'system', text: 'Be brief.' },
              { role: 'user', text: 'How is Bern?' },
            ],
            earlierMessages: 0,
            tools: ['weather'],
            calls: [{ name: 'weather', input: { city: 'Bern' } }],
            usage: { input: 30, output: 5 },
          },
        },
        {
          id: 3,
          parent: 1,
          kind: 'tool',
          name: 'weather',
          state: 'done',
          tool: {
            callId: 'call_weather',
            input: { city: 'Bern' },
            output: { type: 'value', value: { sky: 'rain' } },
          },
        },
        {
          id: 4,
          parent: 1,
          kind: 'model',
          // What the step before had is not told again.
          model: {
            prompt: [{ role: 'assistant' }, { role: 'tool' }],
            earlierMessages: 2,
            text: 'It rains.',
          },
        },
      ],
    },
  ]);
  for (const { startedAt, endedAt = 0 } of turns[0]?.steps ?? []) {
    expect(endedAt).toBeGreaterThanOrEqual(startedAt);
  }
});

test('steps are seen while the turn runs, and failed ones say why', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = weather(async () => {
    await promise;
    throw new Error('the station is down');
  });
  const model = scriptedModel([calls('weather', {}), 'Nobody knows.']);
  const { client, steps } = await inspected(llmAgent({ name: 'clerk', model, tools: [slow] }));
  const answer = client.ask('How is Bern?');
  const running = async () => {
    const { turns, isLive } = await steps();
    const list = turns[0]?.steps ?? [];
    return [isLive, ...list.map(({ kind, state }) => `${kind} ${state}`)];
  };
  await expect.poll(running).toEqual([true, 'agent running', 'model done', 'tool running']);
  resolve();
  await answer;
  expect((await steps()).turns[0]?.steps[2]).toMatchObject({
    state: 'failed',
    tool: { output: { type: 'error', value: 'the station is down' } },
  });
});

test('a question is a paused step, and its answer starts another turn of the task', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsConfirmation: true,
    run: () => 'paid',
  });
  const model = scriptedModel([calls('pay', { amount: 5 }), 'Paid.']);
  const { client, steps } = await inspected(llmAgent({ name: 'clerk', model, tools: [pay] }));
  const asked = await client.ask('Pay 5');
  if (!asked.isQuestion) throw new Error('expected a question');
  await asked.answer('yes');
  const states = (await steps()).turns.map((turn) =>
    turn.steps.map(({ kind, state, tool: called }) => [kind, state, called?.asks].join(' ').trim()),
  );
  expect(states).toEqual([
    ['agent paused', 'model done', 'tool paused confirmation'],
    ['agent done', 'tool done', 'model done'],
  ]);
});

test('sub agents nest, and a remote agent names its task', async () => {
  const far = await inspected(llmAgent({ name: 'far', model: scriptedModel(['From afar.']) }));
  const near = llmAgent({ name: 'near', description: 'Near.', model: scriptedModel(['Near.']) });
  const model = scriptedModel([
    calls('near', { request: 'a' }),
    calls('far', { request: 'b' }),
    'Both.',
  ]);
  const tools = [agentTool(near), agentTool(remoteAgent(far.url, { name: 'far' }))];
  const { client, steps } = await inspected(llmAgent({ name: 'top', model, tools }));
  await client.ask('Go');
  const list = (await steps()).turns[0]?.steps ?? [];
  const named = new Map(list.map((step) => [`${step.kind} ${step.name}`, step]));
  expect(named.get('agent near')?.parent).toBe(named.get('tool near')?.id);
  expect(named.get('tool near')?.parent).toBe(named.get('agent top')?.id);
  const hop = named.get('agent far');
  expect(hop?.parent).toBe(named.get('tool far')?.id);
  const [there] = (await far.client.listTasks()).tasks;
  expect(hop).toMatchObject({ state: 'done', remote: { taskId: there?.id } });
});

test('steps of an agent on another server are within the call, where that server shares them', async () => {
  const run = async (options: ServeOptions) => {
    const far = await inspected(
      llmAgent({
        name: 'far',
        model: scriptedModel([calls('weather', { city: 'Bern' }), 'It rains.']),
        tools: [weather(() => ({ sky: 'rain' }))],
      }),
      options,
    );
    const model = scriptedModel([calls('far', { request: 'ask' }), 'Done.']);
    const tools = [agentTool(remoteAgent(far.url, { name: 'far' }))];
    const { client, steps } = await inspected(llmAgent({ name: 'top', model, tools }));
    const answer = await client.ask('Go');
    expect(JSON.stringify(answer.task)).not.toContain(stepsExtension);
    const list = (await steps()).turns[0]?.steps ?? [];
    const hop = list.find(({ remote }) => remote !== undefined);
    const [inner] = list.filter(({ parent }) => parent === hop?.id);
    const within = list.filter(({ parent }) => parent === inner?.id && inner !== undefined);
    return { inner, within };
  };
  const { inner, within } = await run({ steps: 'share' });
  expect(inner).toMatchObject({ kind: 'agent', name: 'far', state: 'done' });
  expect(within).toMatchObject([
    { kind: 'model', state: 'done' },
    { kind: 'tool', name: 'weather', tool: { input: { city: 'Bern' } }, state: 'done' },
    { kind: 'model', model: { text: 'It rains.' } },
  ]);
  expect(await run({})).toEqual({ inner: undefined, within: [] });
});

test('callers that ask for the extension are sent steps, where the server shares them', async () => {
  const agent = () => llmAgent({ name: 'clerk', model: scriptedModel(['Hello.']) });
  const told = async (options: ServeOptions): Promise<readonly string[]> => {
    const { url } = await inspected(agent(), options);
    const client = await connect(url, { extensions: [stepsExtension] });
    const found: string[] = [];
    for await (const { response } of client.sendStreamingMessage(message('Hi'))) {
      const step = 'statusUpdate' in response && response.statusUpdate.metadata?.[stepsExtension];
      if (isJsonObject(step)) found.push(JSON.stringify([step['kind'], step['state']]));
    }
    return found;
  };
  expect(await told({ steps: 'share' })).toEqual([
    '["agent","running"]',
    '["model","running"]',
    '["model","done"]',
    '["agent","done"]',
  ]);
  expect(await told({})).toEqual([]);
  const { url } = await inspected(agent(), { steps: 'share' });
  const plain = await connect(url);
  expect(plain.card.capabilities.extensions).toMatchObject([{ uri: stepsExtension }]);
  const { text } = await plain.ask('Hi');
  expect(text).toBe('Hello.');
});

test('a server can keep no steps at all', async () => {
  const agent = llmAgent({ name: 'clerk', model: scriptedModel(['Hello.']) });
  const { client, steps } = await inspected(agent, { steps: 'off' });
  expect((await client.ask('Hi')).text).toBe('Hello.');
  expect(await steps()).toEqual({ turns: [], isLive: false });
});
