/** The official JavaScript server called by our client: every binding, both versions. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { type BindingName, connect, type StreamEvent } from '../src/client/index.ts';
import { grpcBinding } from '../src/grpc/index.ts';
import { message, type StreamResponse } from '../src/protocol/index.ts';
import { officialServer } from './support/official-server.ts';

const overHttp = (['JSONRPC', 'HTTP+JSON'] as const).flatMap((binding) => bothVersions(binding));
const overEverything = [...overHttp, ...bothVersions('GRPC')];

function bothVersions(binding: BindingName) {
  return (['1.0', '0.3'] as const).map((version) => ({ binding, version }));
}

/** The official server, which stops with the test. */
async function serving() {
  const server = await officialServer({ grpc: true });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const kinds = (events: readonly StreamResponse[]) => events.map((event) => Object.keys(event)[0]);

/** The text that a consumer of a stream has seen, chunk by chunk. */
function textOf(events: readonly StreamResponse[]): string {
  return events
    .flatMap((event) => ('artifactUpdate' in event ? event.artifactUpdate.artifact.parts : []))
    .map(({ text }) => text)
    .join('');
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamResponse[]> {
  const all: StreamResponse[] = [];
  for await (const { response } of events) all.push(response);
  return all;
}

async function start(how: (typeof overEverything)[number]) {
  const server = await serving();
  const client = await connect(server.url, {
    ...how,
    bindings: [grpcBinding()],
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
  });
  onTestFinished(() => client.close());
  return { ...server, client };
}

describe.each(overEverything)('the official server over $binding $version', (speech) => {
  test('is found by its card', async () => {
    const { client } = await start(speech);
    expect(client.interface).toMatchObject({
      protocolBinding: speech.binding,
      protocolVersion: speech.version,
    });
    expect(await client.refreshCard()).toEqual(client.card);
  });

  test('answers a message with a task, or with a message', async () => {
    const { client } = await start(speech);
    const answer = await client.sendMessage('go');
    expect(answer).toMatchObject({
      task: {
        status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'Done' }] } },
        artifacts: [{ artifactId: 'result', parts: [{ text: 'one ' }, { text: 'two' }] }],
      },
    });
    expect(await client.sendMessage('reply')).toMatchObject({
      message: { messageId: 'reply-1', role: 'ROLE_AGENT', parts: [{ text: 'Plainly said' }] },
    });
  });

  test('answers with bytes', async () => {
    const { client } = await start(speech);
    const answer = await client.sendMessage('file');
    expect(answer).toMatchObject({
      task: {
        artifacts: [{ parts: [{ raw: 'AAEC/w==', mediaType: 'application/octet-stream' }] }],
      },
    });
  });

  test('streams', async () => {
    const { client } = await start(speech);
    const events = await collect(client.sendStreamingMessage('go'));
    expect(kinds(events)).toEqual(['task', 'artifactUpdate', 'artifactUpdate', 'statusUpdate']);
    expect(textOf(events)).toBe('one two');
    expect(kinds(await collect(client.sendStreamingMessage('reply')))).toEqual(['message']);
  });

  test('asks back and is answered', async () => {
    const { client } = await start(speech);
    const asked = await client.sendAndWait('ask');
    if (!('task' in asked)) throw new Error('expected a task');
    expect(asked.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const { id: taskId, contextId } = asked.task;
    const answered = await client.sendAndWait(message('the red one', { taskId, contextId }));
    expect(answered).toMatchObject({
      task: { id: taskId, status: { state: 'TASK_STATE_COMPLETED' } },
    });
  });

  test('is subscribed to, and waited for', async () => {
    const { client, executor } = await start(speech);
    const sent = await client.sendMessage({
      message: message('hold'),
      configuration: { returnImmediately: true },
    });
    if (!('task' in sent)) throw new Error('expected a task');
    await expect.poll(() => executor.held.size).toBe(1);
    const waiting = client.waitForEnd(sent.task.id);
    const events: StreamResponse[] = [];
    for await (const { response } of client.subscribeToTask(sent.task.id)) {
      events.push(response);
      executor.held.get(sent.task.id)?.release();
    }
    expect(kinds(events)[0]).toBe('task');
    expect((await waiting).artifacts).toMatchObject([{ parts: [{ text: 'one two three' }] }]);
    // It is over now: 1.x refuses a subscription, which waiting does not mind.
    expect((await client.waitForEnd(sent.task.id)).status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('cancels', async () => {
    const { client, executor } = await start(speech);
    const sent = await client.sendMessage({
      message: message('hold'),
      configuration: { returnImmediately: true },
    });
    if (!('task' in sent)) throw new Error('expected a task');
    await expect.poll(() => executor.held.size).toBe(1);
    const canceled = await client.cancelTask(sent.task.id);
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
  });

  test('cancels what was abandoned before it was made known', async () => {
    const { client, executor } = await start(speech);
    const failures: unknown[] = [];
    const sender = new AbortController();
    const sent = client
      .sendStreamingMessage('silent', {
        signal: sender.signal,
        cancelOnAbort: { onFailure: (error) => failures.push(error) },
      })
      .next();
    await expect.poll(() => executor.held.size).toBe(1);
    sender.abort(new Error('enough'));
    await expect(sent).rejects.toThrow('enough');
    const [[taskId, { release }] = ['', { release: () => undefined }]] = executor.held;
    release();
    const state = async () => (await client.getTask(taskId)).status.state;
    await expect.poll(() => state().catch(() => '')).toBe('TASK_STATE_CANCELED');
    await client.close();
    expect(failures).toEqual([]);
  });

  test('keeps push configurations', async () => {
    const { client } = await start(speech);
    const sent = await client.sendMessage('go');
    if (!('task' in sent)) throw new Error('expected a task');
    const which = { taskId: sent.task.id, id: 'config-1' };
    const config = { ...which, url: 'https://hooks.example/a', token: 'secret' };
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject(config);
    expect(await client.getTaskPushNotificationConfig(which)).toMatchObject(config);
    const { configs } = await client.listTaskPushNotificationConfigs(which);
    expect(configs).toMatchObject([config]);
    await client.deleteTaskPushNotificationConfig(which);
    expect((await client.listTaskPushNotificationConfigs(which)).configs).toEqual([]);
  });

  test('says what is wrong', async () => {
    const { client } = await start(speech);
    await expect(client.getTask('nowhere')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    const sent = await client.sendMessage('go');
    if (!('task' in sent)) throw new Error('expected a task');
    const { id: taskId, contextId } = sent.task;
    await expect(client.cancelTask(taskId)).rejects.toMatchObject({ code: 'TASK_NOT_CANCELABLE' });
    await expect(client.sendMessage(message('more', { taskId, contextId }))).rejects.toMatchObject({
      name: 'LegateError',
    });
    await expect(collect(client.subscribeToTask('nowhere'))).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
    await expect(client.getExtendedAgentCard()).rejects.toMatchObject({ name: 'LegateError' });
  });
});

describe.each(overHttp)(
  'a broken stream of the official server over $binding $version',
  (speech) => {
    test('is resumed: nothing is lost, nothing comes twice', async () => {
      const { client, executor, cutAll } = await start(speech);
      const events: StreamResponse[] = [];
      for await (const { response } of client.sendStreamingMessage('hold')) {
        events.push(response);
        if (events.length === 3) {
          await expect.poll(() => executor.held.size).toBe(1);
          // The work continues when the client is back.
          cutAll(() => {
            for (const { release } of executor.held.values()) release();
          });
        }
      }
      expect(textOf(events)).toBe('one two three');
      const last = events.at(-1);
      const state =
        last !== undefined && 'task' in last
          ? last.task.status.state
          : last !== undefined && 'statusUpdate' in last && last.statusUpdate.status.state;
      expect(state).toBe('TASK_STATE_COMPLETED');
    });

    test('a task that ended while the stream was broken is delivered all the same', async () => {
      const { client, executor, cutAll } = await start(speech);
      const events: StreamResponse[] = [];
      for await (const { response } of client.sendStreamingMessage('hold')) {
        events.push(response);
        if (events.length === 3) {
          await expect.poll(() => executor.held.size).toBe(1);
          cutAll();
          const [taskId] = executor.held.keys();
          for (const { release } of executor.held.values()) release();
          const isOver = async () => (await client.getTask(taskId ?? '')).status.state;
          await expect.poll(isOver).toBe('TASK_STATE_COMPLETED');
        }
      }
      expect(textOf(events)).toBe('one two three');
      expect(kinds(events).at(-1)).toBe('task');
    });
  },
);

test.each(overEverything.filter(({ version }) => version === '1.0'))(
  'the official server lists its tasks over $binding',
  async (speech) => {
    const { client } = await start(speech);
    for (let count = 0; count < 3; count += 1) await client.sendMessage('go');
    const page = await client.listTasks({ pageSize: 2, includeArtifacts: true });
    expect(page.tasks).toHaveLength(2);
    expect(page.totalSize).toBe(3);
    const ids = new Set<string>();
    for await (const { id } of client.listAllTasks({ pageSize: 2 })) ids.add(id);
    expect(ids.size).toBe(3);
  },
);
