import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Agent, agent, llmAgent, tool } from '../../src/agents/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import {
  createModel,
  type Script,
  type ScriptedModelServer,
  startScriptedModelServer,
} from '../../src/models/index.ts';
import { data, message, type Task } from '../../src/protocol/index.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

/** An agent behind a door, whose model is behind another. */
async function start(
  script: Script,
  make: (model: ReturnType<typeof createModel>) => Agent,
): Promise<{ url: string; models: ScriptedModelServer }> {
  const models = await startScriptedModelServer(script);
  open.push(models);
  const entry = { provider: 'openai-compatible', model: 'scripted', api_base: models.url };
  const server = await serve(make(createModel({ id: 'm', models: [entry] })), {
    drainMs: 0,
    cancelGraceMs: 500,
  });
  open.push(server);
  return { url: server.url, models };
}

function taskIn(answer: object): Task {
  if ('task' in answer) return answer.task as Task;
  throw new Error('the answer is not a task');
}

for (const version of ['1.0', '0.3'] as const) {
  test(`tokens of a model reach the caller as they come (${version})`, async () => {
    const { url, models } = await start(
      [{ text: 'one two three four', reasoning: 'hidden', chunkDelayMs: 15 }],
      (model) => llmAgent({ name: 'talker', model }),
    );
    const client = await connect(url, { version });
    const chunks: string[] = [];
    let seen = '';
    for await (const { response } of client.sendStreamingMessage('Go')) {
      seen += JSON.stringify(response);
      if ('artifactUpdate' in response) {
        const [part] = response.artifactUpdate.artifact.parts;
        chunks.push(part?.text ?? '');
      }
    }
    expect(chunks.join('')).toBe('one two three four');
    expect(chunks.length).toBeGreaterThan(1);
    expect(seen).not.toContain('hidden');
    expect(models.requests[0]?.isStream).toBe(true);
  });
}

function bank() {
  const sent: number[] = [];
  const transfer = tool({
    name: 'transfer',
    description: 'Transfers money.',
    input: z.object({ amount: z.number() }),
    needsConfirmation: true,
    run: ({ amount }) => {
      sent.push(amount);
      return 'ok';
    },
  });
  return { sent, transfer };
}

const ask = { toolCalls: [{ name: 'transfer', input: { amount: 5 }, id: 'c1' }] };

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  for (const version of ['1.0', '0.3'] as const) {
    test(`a confirmation is asked for and given over A2A (${binding}, ${version})`, async () => {
      const { sent, transfer } = bank();
      const { url } = await start([ask, 'Sent'], (model) =>
        llmAgent({ name: 'clerk', model, tools: [transfer] }),
      );
      const client = await connect(url, { binding, version });
      const asked = taskIn(await client.sendMessage('Send 5'));
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
      expect(asked.status.message?.parts[0]?.data).toMatchObject({
        request: 'confirmation',
        tool: 'transfer',
        arguments: { amount: 5 },
        callId: 'c1',
      });
      expect(sent).toEqual([]);
      const yes = message(data({ callId: 'c1', confirmed: true }), { taskId: asked.id });
      const done = taskIn(await client.sendMessage(yes));
      expect(done.status.state).toBe('TASK_STATE_COMPLETED');
      expect(done.artifacts?.[0]?.parts[0]?.text).toBe('Sent');
      expect(done.metadata).toMatchObject({ usage: { calls: 2 } });
      expect(sent).toEqual([5]);
    });
  }
}

test('a task that was cancelled while it asked sends nothing', async () => {
  const { sent, transfer } = bank();
  const { url } = await start([ask, 'Sent'], (model) =>
    llmAgent({ name: 'clerk', model, tools: [transfer] }),
  );
  const client = await connect(url);
  const asked = taskIn(await client.sendMessage('Send 5'));
  await client.cancelTask(asked.id);
  const late = client.sendMessage(message('yes', { taskId: asked.id }));
  await expect(late).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
  expect(sent).toEqual([]);
});

test('a cancellation during an answer aborts the request to the model', async () => {
  const { url, models } = await start(
    [{ text: 'a b c d e f g h i j k l m n o p', chunkDelayMs: 200 }],
    (model) => llmAgent({ name: 'talker', model }),
  );
  const client = await connect(url);
  let state: string | undefined;
  let isAsked = false;
  for await (const { response } of client.sendStreamingMessage('Go')) {
    if ('statusUpdate' in response) ({ state } = response.statusUpdate.status);
    if ('artifactUpdate' in response && !isAsked) {
      isAsked = true;
      await client.cancelTask(response.artifactUpdate.taskId);
    }
  }
  expect(state).toBe('TASK_STATE_CANCELED');
  await expect.poll(() => models.abandoned()).toBe(1);
});

test('a caller that stops reading during an answer aborts the request to the model', async () => {
  const { url, models } = await start(
    [{ text: 'a b c d e f g h i j k l m n o p', chunkDelayMs: 200 }],
    (model) => {
      const talker = llmAgent({ name: 'talker', model });
      // Ends with the first thing that the other says.
      return agent({ name: 'impatient' }, async function* (turn) {
        for await (const event of talker.take(turn)) {
          yield event;
          break;
        }
        yield { kind: 'completed' };
      });
    },
  );
  const client = await connect(url);
  expect(taskIn(await client.sendMessage('Go')).status.state).toBe('TASK_STATE_COMPLETED');
  await expect.poll(() => models.abandoned()).toBe(1);
});

test('an answer that is cut off is asked for again, and starts again', async () => {
  const { url, models } = await start(
    [
      { text: 'this will be cut off somewhere', disconnect: 'midway' },
      { error: { status: 503, headers: { 'retry-after': '0' } } },
      'whole',
    ],
    (model) => llmAgent({ name: 'talker', model }),
  );
  const done = taskIn(await (await connect(url)).sendMessage('Go'));
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  const [artifact] = done.artifacts ?? [];
  expect(artifact?.parts.map(({ text }) => text).join('')).toBe('whole');
  expect(models.requests).toHaveLength(3);
});

test('a model that stays away fails the task, and refuses more than that', async () => {
  const { url } = await start(
    () => ({ error: { status: 400, message: 'bad key sk-abcdefghijkl' } }),
    (model) => llmAgent({ name: 'talker', model }),
  );
  const failed = taskIn(await (await connect(url)).sendMessage('Go'));
  expect(failed.status.state).toBe('TASK_STATE_FAILED');
  expect(failed.metadata).toMatchObject({ error_type: 'model_unavailable' });
  // During development the caller gets the provider's message, with the key cut.
  expect(JSON.stringify(failed)).toContain('bad key sk-abc...');
  expect(JSON.stringify(failed)).not.toContain('abcd');
});
