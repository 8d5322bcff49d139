/** Pollers, streams and webhooks see a task submitted, working and completed, in this order. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { agent, connect, serve, textOf } from '../src/index.ts';
import { isJsonObject, message, parseJson, v1 } from '../src/protocol/index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

/** Notes the states that a webhook is told. */
async function receiver() {
  const states: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const told = parseJson(body);
      const event = isJsonObject(told) ? v1.streamResponse.decode(told) : undefined;
      if (event !== undefined && 'task' in event) states.push(event.task.status.state);
      if (event !== undefined && 'statusUpdate' in event)
        states.push(event.statusUpdate.status.state);
      response.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  open.push({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  });
  const { port } = server.address() as AddressInfo;
  return { states, url: `http://127.0.0.1:${port}/hook` };
}

/** Without repetitions. */
const changes = (states: readonly string[]) =>
  states.filter((state, index) => state !== states[index - 1]);

const inOrder = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];

test('poll, stream and webhook see a task submitted, working and completed', async () => {
  const gates = new Map(['first', 'second'].map((name) => [name, Promise.withResolvers<void>()]));
  const gated = agent({ name: 'gated' }, async (turn) => {
    await gates.get(textOf(turn.message))?.promise;
  });
  const hook = await receiver();
  const server = await serve(gated, { push: {} });
  const client = await connect(server.url);
  open.push(client, server);
  const contextId = 'shared';
  const configuration = { returnImmediately: true };
  await client.sendMessage({ message: message('first', { contextId }), configuration });
  // Waits for the first of its conversation.
  const sent = await client.sendMessage({
    message: message('second', { contextId }),
    configuration: {
      ...configuration,
      taskPushNotificationConfig: { url: hook.url },
    },
  });
  if (!('task' in sent)) throw new Error('a task was expected');
  const { id } = sent.task;
  const polled = [sent.task.status.state];
  const poll = async () => {
    const { state } = (await client.getTask(id)).status;
    polled.push(state);
    return state;
  };
  const streamed: string[] = [];
  const following = (async () => {
    for await (const { response } of client.subscribeToTask(id)) {
      if ('task' in response) streamed.push(response.task.status.state);
      if ('statusUpdate' in response) streamed.push(response.statusUpdate.status.state);
    }
  })();
  await expect.poll(() => streamed.length).toBeGreaterThan(0);
  await poll();
  gates.get('first')?.resolve();
  await expect.poll(poll).toBe('TASK_STATE_WORKING');
  gates.get('second')?.resolve();
  await expect.poll(poll).toBe('TASK_STATE_COMPLETED');
  await following;
  await expect.poll(() => hook.states.at(-1)).toBe('TASK_STATE_COMPLETED');
  expect(changes(polled)).toEqual(inOrder);
  expect(changes(streamed)).toEqual(inOrder);
  expect(changes(hook.states)).toEqual(inOrder);
});
