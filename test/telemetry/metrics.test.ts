import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agent, llmAgent, tool } from '../../src/agents/index.ts';
import { gateway, hostOnBus, openBus } from '../../src/bus/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { artifact, message } from '../../src/protocol/index.ts';

test('models and tools are counted, with the tokens they used', async () => {
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'sum', input: { a: 1 } },
        { name: 'break', input: {} },
      ],
    },
    'done',
  ]);
  const sum = tool({
    name: 'sum',
    description: 'Adds.',
    input: z.object({ a: z.number() }),
    run: async ({ a }) => a + 1,
  });
  const broken = tool({
    name: 'break',
    description: 'Breaks.',
    input: z.object({}),
    run: async () => {
      throw new Error('broken');
    },
  });
  const clerk = llmAgent({ name: 'clerk', model, tools: [sum, broken] });
  await using server = await serve(clerk, { prometheus: true, drainMs: 0 });
  await (await connect(server.url)).sendMessage('x');
  const text = await (await fetch(`${server.url}/metrics`)).text();
  expect(text).toContain('legate_model_calls_total{model="scripted",outcome="ok"} 2\n');
  expect(text).toContain('legate_model_duration_seconds_count{model="scripted",outcome="ok"} 2\n');
  expect(text).toMatch(/^legate_model_tokens_total\{model="scripted",direction="output"\} \d+$/m);
  expect(text).toContain('legate_tool_calls_total{tool="sum",outcome="ok"} 1\n');
  expect(text).toContain('legate_tool_calls_total{tool="break",outcome="error"} 1\n');
});

test('webhooks are counted by what came of each attempt', async () => {
  const statuses = [500, 200];
  const webhook = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(statuses.shift() ?? 200).end());
  });
  webhook.listen(0, '127.0.0.1');
  await once(webhook, 'listening');
  const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`;
  const greeter = agent({ name: 'greeter' }, async function* () {
    yield artifact('x');
  });
  try {
    await using server = await serve(greeter, {
      prometheus: true,
      push: { backoff: { initialDelay: 1 } },
      drainMs: 0,
    });
    const client = await connect(server.url);
    await client.sendMessage({
      message: message('x'),
      configuration: { taskPushNotificationConfig: { url } },
    });
    const read = async () => (await fetch(`${server.url}/metrics`)).text();
    await expect
      .poll(read, { timeout: 20_000 })
      .toMatch(/^legate_push_attempts_total\{outcome="delivered"\} [1-9]\d*$/m);
    await expect
      .poll(read, { timeout: 20_000 })
      .toMatch(/^legate_push_attempts_total\{outcome="retry"\} 1$/m);
    expect(await read()).toMatch(/^legate_push_duration_seconds_count\{outcome="retry"\} 1$/m);
  } finally {
    webhook.closeAllConnections();
    webhook.close();
  }
});

test('the bus is counted beside the rest, dead letters included, whichever was there first', async () => {
  await using bus = await openBus({ type: 'memory' });
  const echo = agent({ name: 'echo' }, async function* () {
    yield artifact('x');
  });
  await using host = await hostOnBus(echo, { bus });
  await using server = await gateway({ bus, agents: [host.name], prometheus: true, drainMs: 0 });
  await (await connect(server.url)).sendMessage('x');
  const text = await (await fetch(`${server.url}/metrics`)).text();
  expect(text).toMatch(/^legate_messaging_publish_messages_total\{.*status="ok"\} [1-9]/m);
  expect(text).toMatch(/^legate_messaging_process_messages_total\{.*status="done"\} [1-9]/m);
  expect(text).toMatch(/^legate_turns_total\{agent="echo",outcome="completed"\} [1-9]/m);
});
