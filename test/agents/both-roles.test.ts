import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agent,
  completed,
  inputRequired,
  remoteAgent,
  textOf,
  type Turn,
  working,
} from '../../src/agents/index.ts';
import { type Client, connect } from '../../src/client/index.ts';
import { serveAssistant } from '../../src/assistant/index.ts';
import { serve } from '../../src/http/index.ts';
import { message, type SendMessageResponse, type Task } from '../../src/protocol/index.ts';
import { startTelemetry } from '../../src/telemetry/index.ts';
import { greenhouseFolder, type ProjectFolder } from '../support/greenhouse.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

/**
 * An assistant in both roles at once: it works for an orchestrator, and another agent works for it.
 * All three are servers, and everything between them goes over HTTP.
 */
interface Chain {
  /** Speaks with the orchestrator. */
  readonly client: Client;
  /** Speaks with the assistant, past the orchestrator. */
  readonly assistant: Client;
  readonly hotels: Client;
}

const open: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A project whose flow hands over to the agent at an address. */
async function tripFolder(hotelsUrl: string): Promise<ProjectFolder> {
  const folder = await greenhouseFolder({
    'domain.yml': `
session_config: {start_session_after_expiry: false}
slots:
  city: {type: text}
  hotel: {type: text, mappings: [{type: controlled}]}
actions: []
responses:
  utter_ask_city: [{text: "Which city?"}]
  utter_booked: [{text: "Your trip to {city} is booked."}]
`,
    'data/flows.yml': `
flows:
  trip:
    name: trip
    description: Plan a trip.
    examples: [plan a trip]
    run_pattern_completed: false
    steps:
      - collect: city
      - call: hotels
      - action: utter_booked
`,
    'endpoints.yml': 'a2a_server: {description: Plans trips.}\nstore: {type: memory}\n',
    'sub_agents/hotels/config.yml': `
agent: {name: hotels, protocol: A2A, description: Finds a hotel.}
configuration: {agent_card: "${hotelsUrl}"}
`,
  });
  open.push(() => folder[Symbol.asyncDispose]());
  return folder;
}

async function chain(hotels: Agent, fetching?: typeof fetch): Promise<Chain> {
  const far = await serve(hotels, { drainMs: 0, cancelGraceMs: 500 });
  open.push(() => far.close());
  const folder = await tripFolder(far.url);
  const assistant = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
    drainMs: 0,
  });
  open.push(() => assistant.close());
  const relay = remoteAgent(assistant.url, {
    name: 'orchestrator',
    ...(fetching !== undefined && { fetch: fetching }),
  });
  const orchestrator = await serve(relay, { drainMs: 0, cancelGraceMs: 2_000 });
  open.push(() => orchestrator.close());
  return {
    client: await connect(orchestrator.url),
    assistant: await connect(assistant.url),
    hotels: await connect(far.url),
  };
}

function taskOf(response: SendMessageResponse): Task {
  if (!('task' in response)) throw new Error('no task');
  return response.task;
}

function wordsOf({ status }: Task): readonly string[] {
  return (status.message?.parts ?? []).flatMap(({ text }) => (text === undefined ? [] : [text]));
}

async function statesOf(client: Client): Promise<readonly string[]> {
  const { tasks } = await client.listTasks({});
  return tasks.map(({ status }) => status.state);
}

/** Asks for the hotel; `heard` gets every message. */
function asking(heard: Turn[] = []): Agent {
  return agent({ name: 'hotels' }, async function* (turn) {
    heard.push(turn);
    yield turn.isContinuation
      ? completed(`Noted: ${textOf(turn.message)}`)
      : inputRequired('Which hotel?');
  });
}

test('a question crosses both hops, and its answer goes back to the task that asked', async () => {
  const heard: Turn[] = [];
  const { client, assistant } = await chain(asking(heard));
  const first = taskOf(await client.sendAndWait('plan a trip'));
  expect(first.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  expect(wordsOf(first)).toEqual(['Which city?']);
  const { contextId } = first;
  const asked = taskOf(await client.sendAndWait(message('Rome', { contextId, taskId: first.id })));
  expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  expect(wordsOf(asked)).toEqual(['Which hotel?']);
  const done = taskOf(await client.sendAndWait(message('Ritz', { contextId, taskId: first.id })));
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  expect(wordsOf(done)).toEqual(['Noted: Ritz', 'Your trip to Rome is booked.']);
  expect(done.id).toBe(first.id);
  // Far away it was one conversation and one task; it knows what was said and found out here.
  expect(heard.map(({ message: { parts } }) => parts[0]?.text)).toEqual(['Rome', 'Ritz']);
  expect(heard[1]?.taskId).toBe(heard[0]?.taskId);
  expect(heard[0]?.message.parts[1]?.data).toMatchObject({ slots: { city: 'Rome' } });
  expect(await statesOf(assistant)).not.toContain('TASK_STATE_INPUT_REQUIRED');
});

test('a cancel cascades to an agent that waits for an answer', async () => {
  const { client, assistant, hotels } = await chain(asking());
  const first = taskOf(await client.sendAndWait('plan a trip'));
  const { contextId, id } = first;
  await client.sendAndWait(message('Rome', { contextId, taskId: id }));
  expect(await statesOf(hotels)).toEqual(['TASK_STATE_INPUT_REQUIRED']);
  const canceled = await client.cancelTask(id);
  expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
  await expect.poll(() => statesOf(hotels), { timeout: 10_000 }).toEqual(['TASK_STATE_CANCELED']);
  expect(await statesOf(assistant)).toContain('TASK_STATE_CANCELED');
});

test('a cancel cascades to an agent that is at work', async () => {
  const entered = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const { client, hotels } = await chain(
    agent({ name: 'hotels' }, async function* (turn) {
      yield working('Looking around.');
      entered.resolve();
      await new Promise((resolve) => {
        turn.signal.addEventListener('abort', resolve, { once: true });
      });
      left.resolve();
    }),
  );
  const first = taskOf(await client.sendAndWait('plan a trip'));
  const { contextId, id } = first;
  const asked = client.sendAndWait(message('Rome', { contextId, taskId: id }));
  await entered.promise;
  await client.cancelTask(id);
  await left.promise;
  expect(taskOf(await asked).status.state).toBe('TASK_STATE_CANCELED');
  await expect.poll(() => statesOf(hotels), { timeout: 10_000 }).toEqual(['TASK_STATE_CANCELED']);
});

for (const isHeld of [false, true]) {
  const where = isHeld ? 'on both hops' : 'on the last hop';
  test(`a cancel cascades to an agent whose task is not known yet (${where})`, async () => {
    const entered = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const silent = agent({ name: 'hotels', replies: 'message' }, async function* (turn) {
      entered.resolve();
      await new Promise((resolve) => {
        turn.signal.addEventListener('abort', resolve, { once: true });
      });
      left.resolve();
      yield completed();
    });
    // Answers of the assistant that never arrive, from the second message on.
    let sends = 0;
    const holding: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const isSend = typeof init?.body === 'string' && init.body.includes('"SendStreamingMessage"');
      if (isHeld && isSend && (sends += 1) > 1) {
        await new Promise((_, reject) => {
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
        });
      }
      return response;
    };
    const { client, assistant, hotels } = await chain(silent, holding);
    const first = taskOf(await client.sendAndWait('plan a trip'));
    const { contextId } = first;
    // Not an answer to the task that asked: a message of its own, whose task nobody knows beforehand.
    const sent = taskOf(
      await client.sendMessage({
        message: message('Rome', { contextId }),
        configuration: { returnImmediately: true },
      }),
    );
    await entered.promise;
    expect((await client.cancelTask(sent.id)).status.state).toBe('TASK_STATE_CANCELED');
    await left.promise;
    await expect.poll(() => statesOf(hotels), { timeout: 15_000 }).toEqual(['TASK_STATE_CANCELED']);
    await expect
      .poll(() => statesOf(assistant), { timeout: 15_000 })
      .toContain('TASK_STATE_CANCELED');
  });
}

test('what an agent tells on the way crosses both hops while it works', async () => {
  const gate = Promise.withResolvers<void>();
  const { client } = await chain(
    agent({ name: 'hotels' }, async function* () {
      yield working('Looking around.');
      await gate.promise;
      yield completed('Found one.');
    }),
  );
  const { contextId, id: taskId } = taskOf(await client.sendAndWait('plan a trip'));
  const told: string[] = [];
  for await (const { response } of client.sendStreamingMessage(
    message('Rome', { contextId, taskId }),
  )) {
    if (!('statusUpdate' in response)) continue;
    const { parts = [] } = response.statusUpdate.status.message ?? {};
    told.push(...parts.flatMap(({ text }) => (text === undefined ? [] : [text])));
    if (told.includes('Looking around.')) gate.resolve();
  }
  expect(told).toEqual(['Looking around.', 'Found one.', 'Your trip to Rome is booked.']);
});

test('one trace over both hops', async () => {
  await using collector = await OtlpCollector.open();
  await using telemetry = await startTelemetry({ otlp: { endpoint: collector.endpoint } });
  const { client } = await chain(asking());
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const first = taskOf(await client.sendAndWait('plan a trip', { headers }));
  const { contextId, id: taskId } = first;
  await client.sendAndWait(message('Rome', { contextId, taskId }), { headers });
  await telemetry.flush();
  const turns = collector.spans.filter(({ name }) => name === 'legate.turn');
  // Two turns of the orchestrator and of the assistant, and one of the agent.
  expect(turns.map((span) => span.traceId)).toEqual(Array.from({ length: 5 }, () => traceId));
});

test('what the user says while an agent works is answered when it is done, and not lost', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const heard: string[] = [];
  const { assistant } = await chain(
    agent({ name: 'hotels' }, async function* (turn) {
      heard.push(textOf(turn.message));
      yield working('Looking around.');
      entered.resolve();
      await gate.promise;
      yield turn.isContinuation ? completed('Noted.') : inputRequired('Which hotel?');
    }),
  );
  const contextId = 'one';
  await assistant.sendAndWait(message('plan a trip', { contextId }));
  const first = assistant.sendAndWait(message('Rome', { contextId }));
  await entered.promise;
  const second = assistant.sendAndWait(message('the Ritz', { contextId }));
  gate.resolve();
  expect(wordsOf(taskOf(await first))).toContain('Which hotel?');
  expect(wordsOf(taskOf(await second))).toEqual(['Noted.', 'Your trip to Rome is booked.']);
  expect(heard).toEqual(['Rome', 'the Ritz']);
});

test('a question of an agent outlives the process that asked it', async () => {
  const heard: Turn[] = [];
  const far = await serve(asking(heard), { drainMs: 0 });
  open.push(() => far.close());
  const folder = await tripFolder(far.url);
  const contextId = 'one';
  const during = async (text: string): Promise<Task> => {
    await using assistant = await serveAssistant({
      places: { directory: folder.directory },
      store: { type: 'sqlite', path: folder.path('store.db') },
      environment: {},
      drainMs: 0,
    });
    const client = await connect(assistant.url);
    return taskOf(await client.sendAndWait(message(text, { contextId })));
  };
  await during('plan a trip');
  expect(wordsOf(await during('Rome'))).toEqual(['Which hotel?']);
  expect(wordsOf(await during('Ritz'))).toEqual(['Noted: Ritz', 'Your trip to Rome is booked.']);
  expect(heard[1]?.taskId).toBe(heard[0]?.taskId);
});
