import { describe, expect, test } from 'vitest';
import { intercepted } from '../../../test/support/intercepted-store.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { openStore } from '../../store/index.ts';
import { ManualScheduler } from './testing/manual-scheduler.ts';
import { type Served, served, stateOf, streamed, wireTask, wordsOf } from './testing/served.ts';

const endpoints = (more: string) => ({
  'endpoints.yml': `a2a_server:\n  description: Looks after a greenhouse.\n${more}\nstore: {type: memory}\n`,
});

async function tasksOf(house: Served, contextId: string) {
  const { tasks } = await house.serving.router.engine.listTasks(
    { contextId },
    { caller: { tenant: '', subject: '', method: 'anonymous' }, version: '1.0' },
  );
  return tasks.map(({ id, status }) => ({ id, state: status.state }));
}

test('a flow asks for input with its slots, and completes with what it leaves behind', async () => {
  await using house = await served();
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  expect(asked.status.state).toBe('input-required');
  expect(stateOf(asked)).toEqual({
    state: 'input_required',
    active_flow: 'water_plants',
    slots: { plant: 'Monstera', watered: 0 },
  });
  expect(wordsOf(asked)).toEqual(['How many litres?']);
  const done = await house.say('5', { contextId: 'c' });
  expect(done.id).not.toBe(asked.id);
  expect(done.status.state).toBe('completed');
  expect(stateOf(done)).toEqual({
    state: 'completed',
    active_flow: null,
    slots: { plant: 'Monstera', watered: 5 },
    persisted_slots: { plant: 'Monstera' },
  });
  expect(wordsOf(done)[0]).toBe('Monstera got 5 litres.');
});

describe('a question that a new task of its context answers', () => {
  test('stays input-required, with its state and the successor', async () => {
    await using house = await served();
    const asked = await house.say('water the Monstera', { contextId: 'c' });
    const done = await house.say('5', { contextId: 'c' });
    const { body } = await house.rpc('tasks/get', { id: asked.id });
    const task = wireTask(body);
    expect(task.status.state).toBe('input-required');
    expect(stateOf(task)).toEqual({
      state: 'input_required',
      active_flow: 'water_plants',
      slots: { plant: 'Monstera', watered: 0 },
      superseded_by: done.id,
    });
  });

  test('closes its streams with one last status', async () => {
    await using house = await served();
    const asked = await house.say('water the Monstera', { contextId: 'c' });
    const stream = await streamed(house, 'tasks/resubscribe', { id: asked.id });
    const done = await house.say('5', { contextId: 'c' });
    const events = await stream.rest();
    expect(events.at(-1)).toMatchObject({
      kind: 'status-update',
      final: true,
      status: {
        state: 'input-required',
        message: { parts: [{ data: { superseded_by: done.id } }] },
      },
    });
    expect(events.filter(({ kind }) => kind === 'status-update')).toHaveLength(1);
  });

  test('no longer counts against max_contexts', async () => {
    await using house = await served({ files: endpoints('  max_contexts: 1') });
    await house.say('water the Monstera', { contextId: 'one' });
    await house.say('5', { contextId: 'one' });
    const next = await house.say('water the Ficus', { contextId: 'two' });
    expect(next.status.state).toBe('input-required');
  });

  test('is swept with the tasks that have ended', async () => {
    const scheduler = new ManualScheduler();
    const store = await openStore({ type: 'memory' }, scheduler);
    await using house = await served({ scheduler, store });
    const asked = await house.say('water the Monstera', { contextId: 'c' });
    await house.say('5', { contextId: 'c' });
    scheduler.advance(60_000);
    expect(await store.sweep({ retentionMs: 30_000, limit: 10 })).toMatchObject({ tasks: 2 });
    const { body } = await house.rpc('tasks/get', { id: asked.id });
    expect(body).toMatchObject({ error: { code: -32001 } });
  });

  test('continues with the conversation when a message names it', async () => {
    await using house = await served();
    const asked = await house.say('water the Monstera', { contextId: 'c' });
    const newer = await house.say('set the shade', { contextId: 'c' });
    const answered = await house.say('high', { contextId: 'c', taskId: asked.id });
    expect(answered.id).toBe(asked.id);
    expect(wordsOf(answered)[0]).toBe('The shade is high.');
    const { body } = await house.rpc('tasks/get', { id: newer.id });
    expect(stateOf(wireTask(body))).toMatchObject({ superseded_by: asked.id });
  });
});

test('a message with the task’s id continues in the same task', async () => {
  await using house = await served();
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const done = await house.say('5', { contextId: 'c', taskId: asked.id });
  expect(done.id).toBe(asked.id);
  expect(done.status.state).toBe('completed');
});

test('neither the stack nor the tracker nor prompts leave the house', async () => {
  await using house = await served();
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const text = JSON.stringify(asked);
  for (const word of [
    'pattern_',
    'frame',
    'stack',
    'events',
    'parse_data',
    'commands',
    'session',
  ]) {
    expect(text).not.toContain(word);
  }
});

test('the same message again is answered as the first time, and runs once', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  const first = await house.say('5', { contextId: 'c', messageId: 'same' });
  const again = await house.say('5', { contextId: 'c', messageId: 'same' });
  expect(again).toEqual(first);
  expect((await house.tracker('c'))['slots']).toMatchObject({ watered: 5 });
});

test('a question is remembered for repeats too', async () => {
  await using house = await served();
  const first = await house.say('water the Monstera', { contextId: 'c', messageId: 'same' });
  expect(await house.say('water the Monstera', { contextId: 'c', messageId: 'same' })).toEqual(
    first,
  );
});

test('a2a_message_cache_ttl_seconds: after that time the message is a new one', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({
    scheduler,
    files: endpoints('  a2a_message_cache_ttl_seconds: 30'),
  });
  const first = await house.say('report the growth', { contextId: 'c', messageId: 'same' });
  scheduler.advance(31_000);
  const later = await house.say('report the growth', { contextId: 'c', messageId: 'same' });
  expect(later.id).not.toBe(first.id);
});

test('a2a_message_cache_ttl_seconds 0: nothing is replayed', async () => {
  await using house = await served({ files: endpoints('  a2a_message_cache_ttl_seconds: 0') });
  const first = await house.say('report the growth', { contextId: 'c', messageId: 'same' });
  const again = await house.say('report the growth', { contextId: 'c', messageId: 'same' });
  expect(again.id).not.toBe(first.id);
});

test('a repeat of a message that is being worked on is answered 409', async () => {
  await using house = await served();
  const params: JsonObject = {
    message: {
      kind: 'message',
      role: 'user',
      messageId: 'same',
      contextId: 'c',
      parts: [{ kind: 'text', text: 'wait for the rain' }],
    },
  };
  const first = house.rpc('message/send', params);
  await expect.poll(() => house.gate.entered).toBe(1);
  const second = await house.rpc('message/send', params);
  expect(second.status).toBe(409);
  // Before a stream opens, too: the answer is one of JSON and no event.
  const streamed = await house.rpc('message/stream', params);
  expect(streamed.status).toBe(409);
  expect(streamed.body).toMatchObject({ error: { code: -32050 } });
  expect(second.body).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: expect.any(Number) } });
  expect(house.warned).toContain('a2a_server.sanic_app.message_in_flight_conflict');
  house.gate.open();
  expect((await first).body['result']).toMatchObject({ status: { state: 'completed' } });
});

test('another message of the context waits its turn, and then continues from there', async () => {
  await using house = await served();
  const first = house.say('wait for the rain', { contextId: 'c' });
  await expect.poll(() => house.gate.entered).toBe(1);
  const second = house.say('water the Monstera', { contextId: 'c' });
  house.gate.open();
  expect((await first).status.state).toBe('completed');
  expect(stateOf(await second)).toMatchObject({ active_flow: 'water_plants' });
});

test('a question that a waiting message answered is not left open', async () => {
  await using house = await served();
  const first = house.say('wait for the rain', { contextId: 'c' });
  await expect.poll(() => house.gate.entered).toBe(1);
  const queued = [
    house.say('water the Monstera', { contextId: 'c' }),
    house.say('5', { contextId: 'c' }),
  ];
  await expect.poll(async () => (await tasksOf(house, 'c')).length).toBe(3);
  house.gate.open();
  await first;
  const [asked, done] = await Promise.all(queued);
  expect(done?.status.state).toBe('completed');
  const { body } = await house.rpc('tasks/get', { id: asked?.id ?? '' });
  expect(stateOf(wireTask(body))).toMatchObject({ superseded_by: done?.id });
});

test('tasks/cancel of a question cancels its flow, and the conversation starts again', async () => {
  await using house = await served();
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const { body } = await house.rpc('tasks/cancel', { id: asked.id });
  expect(body['result']).toMatchObject({ status: { state: 'canceled' } });
  expect(stateOf(body['result'] as never)).toMatchObject({
    state: 'canceled',
    active_flow: null,
    canceled_flows: ['water_plants'],
  });
  const { events, stack } = await house.tracker('c');
  expect(events).toContainEqual(
    expect.objectContaining({ event: 'flow_cancelled', flow_id: 'water_plants' }),
  );
  expect(stack).toEqual([]);
  const next = await house.say('set the shade', { contextId: 'c' });
  expect(stateOf(next)).toMatchObject({ active_flow: 'set_shade' });
  expect(wordsOf(next)).toEqual(['How much shade?']);
});

test('tasks/cancel during a turn ends it and the flow that was active', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  const waiting = house.rpc('message/stream', {
    message: {
      kind: 'message',
      role: 'user',
      messageId: 'wait',
      contextId: 'c',
      parts: [{ kind: 'text', text: 'wait for the rain' }],
    },
  });
  await expect.poll(() => house.gate.entered).toBe(1);
  const working = (await tasksOf(house, 'c')).find(({ state }) => state === 'TASK_STATE_WORKING');
  const { body } = await house.rpc('tasks/cancel', { id: working?.id ?? '' });
  expect(body['result']).toMatchObject({ status: { state: 'canceled' } });
  await waiting;
  const { events, stack } = await house.tracker('c');
  expect(events).toContainEqual(
    expect.objectContaining({ event: 'flow_cancelled', flow_id: 'water_plants' }),
  );
  expect(stack).toEqual([]);
});

test('task_timeout_seconds cancels a turn that takes too long', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, files: endpoints('  task_timeout_seconds: 20') });
  const waiting = house.say('wait for the rain', { contextId: 'c' });
  await expect.poll(() => house.gate.entered).toBe(1);
  scheduler.advance(20_000);
  const task = await waiting;
  expect(task.status.state).toBe('canceled');
  expect(stateOf(task)).toEqual({
    state: 'canceled',
    active_flow: null,
    slots: { watered: 0 },
    canceled_flows: [],
    error_type: 'timeout',
  });
  expect(house.logged).toContain('a2a_server.rasa_a2a_agent_executor.task_timeout');
});

test('tasks/cancel of a first turn tells the state of the conversation', async () => {
  await using house = await served();
  const waiting = house.say('wait for the rain', { contextId: 'c' });
  await expect.poll(() => house.gate.entered).toBe(1);
  const [working] = await tasksOf(house, 'c');
  const { body } = await house.rpc('tasks/cancel', { id: working?.id ?? '' });
  expect(stateOf(wireTask(body))).toEqual({
    state: 'canceled',
    active_flow: null,
    slots: { watered: 0 },
    canceled_flows: [],
  });
  await waiting;
});

test('task_timeout_seconds 0: a turn may take as long as it likes', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, files: endpoints('  task_timeout_seconds: 0') });
  const waiting = house.say('wait for the rain', { contextId: 'c' });
  await expect.poll(() => house.gate.entered).toBe(1);
  scheduler.advance(24 * 3_600_000);
  house.gate.open();
  expect((await waiting).status.state).toBe('completed');
});

test('a question is not timed out: only turns that run are', async () => {
  const scheduler = new ManualScheduler();
  await using house = await served({ scheduler, files: endpoints('  task_timeout_seconds: 20') });
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  scheduler.advance(3_600_000);
  const { body } = await house.rpc('tasks/get', { id: asked.id });
  expect(body['result']).toMatchObject({ status: { state: 'input-required' } });
});

test('61 minutes later the conversation continues where it was', async () => {
  let now = Date.UTC(2026, 10, 15, 10);
  await using house = await served({ build: { clock: { now: () => now } } });
  await house.say('water the Monstera', { contextId: 'c' });
  now += 61 * 60_000;
  const done = await house.say('5', { contextId: 'c' });
  expect(done.status.state).toBe('completed');
  const { events } = await house.tracker('c');
  expect(events.filter(({ event }) => event === 'session_started')).toHaveLength(1);
});

test('an inactive conversation keeps its question', async () => {
  await using house = await served();
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const posted = await house.api('POST', '/conversations/c/tracker/events', {
    event: 'conversation_inactive',
  });
  expect(posted.body).toMatchObject({ inactive: true });
  const done = await house.say('5', { contextId: 'c', taskId: asked.id });
  expect(done.status.state).toBe('completed');
});

test('a conversation that has ended for good refuses further messages', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  await house.api('POST', '/conversations/c/tracker/events', { event: 'session_ended' });
  const refused = await house.say('5', { contextId: 'c' });
  expect(refused.status.state).toBe('failed');
  expect(stateOf(refused)).toMatchObject({ error_type: 'session_ended' });
});

test('max_contexts: one conversation too many fails, until another one ends', async () => {
  await using house = await served({ files: endpoints('  max_contexts: 1') });
  await house.say('water the Monstera', { contextId: 'one' });
  const refused = await house.say('water the Ficus', { contextId: 'two' });
  expect(refused.status.state).toBe('failed');
  expect(stateOf(refused)).toMatchObject({ error_type: 'context_limit' });
  expect(house.logged).toContain('a2a_server.rasa_a2a_agent_executor.execute.context_limit');
  await house.say('5', { contextId: 'one' });
  expect((await house.say('water the Ficus', { contextId: 'two' })).status.state).toBe(
    'input-required',
  );
});

test('max_contexts counts conversations of orchestrators, not those of channels', async () => {
  await using house = await served({ files: endpoints('  max_contexts: 1') });
  for (const sender of ['a', 'b']) {
    await house.api('POST', '/webhooks/rest/webhook?stream=true', {
      sender,
      message: 'water the Monstera',
    });
    await house.api('POST', '/webhooks/rest/webhook', { sender, message: 'water the Monstera' });
  }
  expect((await house.say('water the Ficus', { contextId: 'c' })).status.state).toBe(
    'input-required',
  );
});

test('max_contexts: users of channels are answered while orchestrators have all places', async () => {
  await using house = await served({ files: endpoints('  max_contexts: 1') });
  await house.say('water the Monstera', { contextId: 'one' });
  const words = { sender: 'a', message: 'water the Monstera' };
  const answer = await house.api('POST', '/webhooks/rest/webhook', words);
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual([expect.objectContaining({ recipient_id: 'a' })]);
  const event = { event: 'slot', name: 'plant', value: 'Ficus' };
  const noted = await house.api('POST', '/conversations/b/tracker/events', event);
  expect(noted.status).toBe(200);
});

test('what no skill covers is rejected, with a reason', async () => {
  await using house = await served();
  const task = await house.say('order a pizza', { contextId: 'c' });
  expect(task.status.state).toBe('rejected');
  expect(stateOf(task)).toMatchObject({ state: 'rejected', reason: expect.any(String) });
});

test('a question that nothing can answer is rejected with a reason, and keeps no context', async () => {
  await using house = await served({ files: endpoints('  max_contexts: 1') });
  for (const [text, reason] of [
    ['What is the capital of France?', 'cannot_handle_no_relevant_answer'],
    ['order a pizza', 'cannot_handle_default'],
  ] as const) {
    const task = await house.say(text, { contextId: text });
    expect([text, task.status.state, stateOf(task)['reason']]).toEqual([text, 'rejected', reason]);
  }
  const next = await house.say('water the Ficus', { contextId: 'c' });
  expect(next.status.state).toBe('input-required');
});

test('a model that lost the active flow answers once, and tells what became of the flow', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  await house.folder.write({
    'data/flows.yml':
      'flows:\n  set_shade:\n    description: Set the shade.\n    steps: [{collect: shade}]\n',
  });
  expect((await house.api('PUT', '/model', {})).status).toBe(204);
  const task = await house.say('5', { contextId: 'c' });
  expect(wordsOf(task)).toEqual([expect.stringMatching(/^I was just updated/)]);
  expect(stateOf(task)).toEqual({
    state: 'canceled',
    active_flow: null,
    slots: { plant: 'Monstera', watered: 0 },
    canceled_flows: ['water_plants'],
  });
});

test('a message that is not understood inside a flow keeps the flow active', async () => {
  await using house = await served();
  await house.say('set the shade', { contextId: 'c' });
  const task = await house.say('flibbertigibbet of the north', { contextId: 'c' });
  expect(task.status.state).toBe('input-required');
  expect(stateOf(task)).toMatchObject({ active_flow: 'set_shade' });
});

test('an action that throws fails the task, says one thing, and tells nothing of its inside', async () => {
  await using house = await served();
  const task = await house.say('start the pump', { contextId: 'c' });
  expect(task.status.state).toBe('failed');
  expect(stateOf(task)).toMatchObject({
    state: 'failed',
    active_flow: null,
    error_type: 'action_failed',
    error_info: { action: 'action_pump' },
  });
  expect(wordsOf(task)).toEqual(['Something went wrong on my side. Please try that again.']);
  expect(JSON.stringify(task)).not.toContain('hunter2');
  expect((await house.say('report the growth', { contextId: 'c' })).status.state).toBe('completed');
});

test('the user’s own change of mind cancels', async () => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  const task = await house.say('never mind', { contextId: 'c' });
  expect(task.status.state).toBe('canceled');
  expect(stateOf(task)).toMatchObject({ canceled_flows: ['water_plants'] });
});

test('include_conversation_repair: false completes where repair would ask', async () => {
  const conversation = ['report the growth', 'no'];
  for (const [repair, expected] of [
    [true, ['completed', 'input-required']],
    [false, ['completed', 'completed']],
  ] as const) {
    await using house = await served({
      files: endpoints(`  include_conversation_repair: ${repair}`),
    });
    const states = [];
    for (const text of conversation) {
      states.push((await house.say(text, { contextId: 'c' })).status.state);
    }
    expect(states).toEqual(expected);
  }
});

/** What `message/stream` sends for a message. */
async function eventsOf(house: Served, text: string, about: JsonObject = {}) {
  const stream = await streamed(house, 'message/stream', {
    message: {
      kind: 'message',
      role: 'user',
      messageId: crypto.randomUUID(),
      parts: [{ kind: 'text', text }],
      ...about,
    },
  });
  return stream.rest();
}

/** One line for an event of a stream. */
function shown(event: JsonObject): string {
  const { kind, status, artifact, append, lastChunk } = event as {
    kind: string;
    status?: { state: string };
    artifact?: { parts: { text: string }[] };
    append?: boolean;
    lastChunk?: boolean;
  };
  if (artifact === undefined) return `${kind} ${status?.state}`;
  const text = artifact.parts.map((part) => part.text).join('');
  return `${kind} ${JSON.stringify(text)}${append === true ? ' append' : ''}${lastChunk === true ? ' last' : ''}`;
}

test('message/stream shows work, the pieces of a message, and the whole at the end', async () => {
  await using house = await served();
  const events = await eventsOf(house, 'report the growth');
  expect(events.map(shown)).toEqual([
    'task submitted',
    'status-update working',
    'artifact-update "Everything"',
    'artifact-update " grows" append',
    'artifact-update "." append last',
    'status-update completed',
  ]);
  expect(events.at(-1)).toMatchObject({ final: true });
  const task = events.at(-1) as never;
  expect(wordsOf(task)[0]).toBe('Everything grows.');
});

test.each(['with the id of its task', 'by its context'])(
  'a continuation %s streams working once',
  async (how) => {
    await using house = await served();
    const asked = await house.say('water the Monstera', { contextId: 'c' });
    const isSameTask = how === 'with the id of its task';
    const about = { contextId: 'c', ...(isSameTask && { taskId: asked.id }) };
    const events = await eventsOf(house, '5', about);
    expect(events.map(shown)).toEqual([
      `task ${isSameTask ? 'input-required' : 'submitted'}`,
      'status-update working',
      'status-update completed',
    ]);
    expect((await house.tracker('c'))['slots']).toMatchObject({ watered: 5 });
  },
);

test('a stream that breaks is told to the operator, and its caller hears of it', async () => {
  const store = intercepted(await openStore({ type: 'memory' }), {
    readEvents: () => Promise.reject(new Error('the disk is gone')),
  });
  await using house = await served({ store });
  const asked = await house.say('water the Monstera', { contextId: 'c' });
  const response = await fetch(house.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/resubscribe',
      params: { id: asked.id },
    }),
  });
  const text = await response.text();
  expect(text).toContain('"error"');
  expect(text).not.toContain('the disk');
  expect(house.logged).toContain('a2a_server.sanic_app.stream_sse.error');
});

test('before the model is loaded, and after it was taken away, nothing can be handled', async () => {
  await using house = await served();
  await house.api('DELETE', '/model');
  const task = await house.say('water the Monstera', { contextId: 'c' });
  expect(task.status.state).toBe('failed');
  expect(wordsOf(task)).toEqual(['Agent is not ready to handle messages.']);
  expect(house.logged).toContain('a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready');
});

test('the context of an answer stands in a header and a cookie', async () => {
  await using house = await served();
  const { headers } = await house.rpc('message/send', {
    message: {
      kind: 'message',
      role: 'user',
      messageId: 'm',
      contextId: 'c-7',
      parts: [{ kind: 'text', text: 'report the growth' }],
    },
  });
  expect(headers.get('x-a2a-context-id')).toBe('c-7');
  expect(headers.get('set-cookie')).toMatch(/^a2a-context-id=c-7; Path=\/; Max-Age=3600/);
});

test('GET /status answers without the HTTP API; its other endpoints do not', async () => {
  await using house = await served({ enableApi: false });
  const status = await house.api('GET', '/status');
  expect(status.status).toBe(200);
  expect(status.body).toMatchObject({ model_file: house.folder.directory });
  expect((await house.api('GET', '/domain')).status).toBe(404);
  await using guarded = await served({ enableApi: false, api: { token: 'secret' } });
  expect((await guarded.api('GET', '/status')).status).toBe(401);
  expect((await guarded.api('GET', '/status?token=secret')).status).toBe(200);
});
