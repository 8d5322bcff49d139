import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { peerAttributes, spanTable } from '../../scripts/reference/telemetry.ts';
import { agent, inputRequired, llmAgent, mcpTools, tool } from '../../src/agents/index.ts';
import { mcpHandler } from '../../src/tasks/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { busLink, gateway, hostOnBus, openBus } from '../../src/bus/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { createEmbedder, scriptedModel } from '../../src/models/index.ts';
import { joinPeers, peerSubject } from '../../src/peers/index.ts';
import { artifact, Json, message } from '../../src/protocol/index.ts';
import { openMemory, openStore, type Store } from '../../src/store/index.ts';
import { metricTable, startSpan, startTelemetry } from '../../src/telemetry/index.ts';
import { emptyDatabase } from '../../src/store/postgres/database.contract.ts';
import { setDiskFull } from '../support/full-disk.ts';
import { OtlpCollector, pointsOf } from '../support/otlp-collector.ts';
import { temporaryDirectory } from '../support/stores.ts';
import { say, startTravelDesk } from './travel-desk.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function keep<T extends AsyncDisposable>(opened: T): T {
  closing.push(() => Promise.resolve(opened[Symbol.asyncDispose]()));
  return opened;
}

const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };

/** The name of a span without its subject: `chat gpt-5` is `chat`. */
function operationOf(name: string): string {
  return name.split(' ', 1)[0] ?? name;
}

function answering(name: string) {
  return agent({ name }, async function* () {
    yield artifact('done');
  });
}

/** A model that calls a tool of its own and one of an MCP server. */
async function modelsAndTools(): Promise<void> {
  const mcp = await mcpHandler(answering('helper'));
  const http = createServer((request, response) => void mcp.handler(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const sum = tool({
    name: 'sum',
    description: 'Adds.',
    input: z.object({ a: z.number() }),
    run: async ({ a }) => a + 1,
  });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'sum', input: { a: 1 } },
        { name: 'helper', input: { message: 'x' } },
      ],
    },
    'done',
  ]);
  const tools = mcpTools({ name: 'helpers', url });
  closing.push(async () => {
    await tools.close?.();
    await mcp.close();
    http.closeAllConnections();
    http.close();
  });
  const server = keep(
    await serve(llmAgent({ name: 'clerk', model, tools: [sum, tools] }), { drainMs: 0 }),
  );
  await (await connect(server.url)).sendMessage('x');
}

/** An embedding model behind an endpoint of its own. */
async function embeddings(): Promise<void> {
  const http = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const usage = { prompt_tokens: 3, total_tokens: 3 };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: [{ index: 0, embedding: [1, 0] }], usage }));
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  closing.push(async () => {
    http.closeAllConnections();
    http.close();
  });
  const api_base = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`;
  const models = [{ provider: 'self-hosted', model: 'words', api_base }];
  await createEmbedder({ id: 'e', models }).embed(['x']);
}

async function webhooks(): Promise<void> {
  let calls = 0;
  const webhook = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      calls += 1;
      response.writeHead(200).end();
    });
  });
  webhook.listen(0, '127.0.0.1');
  await once(webhook, 'listening');
  closing.push(async () => {
    webhook.closeAllConnections();
    webhook.close();
  });
  const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`;
  const server = keep(await serve(answering('pushing'), { push: {}, drainMs: 0 }));
  await (
    await connect(server.url)
  ).sendMessage({
    message: message('x'),
    configuration: { taskPushNotificationConfig: { url } },
  });
  await expect.poll(() => calls).toBeGreaterThan(0);
}

async function refusals(): Promise<void> {
  const verifiers = [bearerTokenVerifier({ tokens: [{ token: 'a-long-secret', subject: 'me' }] })];
  const server = keep(
    await serve(answering('closed'), { auth: new Authenticator({ verifiers }), drainMs: 0 }),
  );
  const stranger = await connect(server.url);
  await expect(stranger.sendMessage('x')).rejects.toThrow();
}

/** A gateway, a message that nobody can read, and a peer that asks without end. */
async function bus(): Promise<void> {
  const open = keep(await openBus({ type: 'memory' }));
  keep(await hostOnBus(answering('echo'), { bus: open }));
  keep(
    await hostOnBus(
      agent({ name: 'parrot' }, async function* () {
        yield inputRequired('Which?');
      }),
      { bus: open },
    ),
  );
  const server = keep(await gateway({ bus: open, agents: ['echo'], drainMs: 0 }));
  await (await connect(server.url)).sendMessage('x');
  await open.publish('agent.task.echo', { type: 'task', body: 'poison' });
  const network = keep(
    await joinPeers({
      name: 'me',
      store: openMemory(),
      links: [busLink({ bus: open })],
      wellKnown: [{ name: 'parrot' }],
      conversations: { answer: async () => 'this' },
    }),
  );
  const grant = { level: 'act', skills: ['parrot'], by: 'user' } as const;
  await network.trust.grant(peerSubject('parrot'), grant);
  const request = { agent: 'parrot', skill: 'parrot', message: 'x' };
  await network.invoker.invokeAndWait(request, session);
}

/** A store in PostgreSQL, whose connections are shown. */
async function database(): Promise<void> {
  const url = await emptyDatabase();
  const store = await openStore({ type: 'postgres', url });
  closing.push(() => store.close());
}

/** A store whose disk is full. */
async function fullStore(): Promise<void> {
  const directory = await temporaryDirectory();
  closing.push(async () => directory[Symbol.asyncDispose]());
  const store = await openStore({ type: 'sqlite', path: join(directory.path, 'store.db') });
  closing.push(() => store.close());
  setDiskFull(true);
  const value = Json.of('x'.repeat(100_000));
  await expect(store.records.write([{ space: 's', key: 'k', value }], 0)).rejects.toThrow(
    'the disk is full',
  );
  setDiskFull(false);
}

/** An assistant that reads a message with a model and calls a tool, an action and a sub agent. */
async function assistants(collector: string): Promise<void> {
  const desk = keep(await startTravelDesk(collector));
  await say(desk.url, 'plan my trip');
}

function invokerOf(name: string, url: string, store: Store) {
  const client = { poll: { initialMs: 5, maximumMs: 20 } };
  return joinPeers({ name: 'me', store, wellKnown: [{ name, url }], client });
}

/** Peers that stream, that are polled, and whose task another process takes up. */
async function peers(): Promise<void> {
  for (const streaming of [true, false]) {
    const gate = Promise.withResolvers<void>();
    const slow = agent({ name: 'bob' }, async function* () {
      await gate.promise;
      yield artifact('done');
    });
    const server = keep(await serve(slow, { drainMs: 0, streaming }));
    const store = openMemory();
    const request = { agent: 'bob', skill: 'bob', message: 'x' };
    let id: string;
    {
      await using first = await invokerOf('bob', server.url, store);
      ({ id } = await first.invoker.invoke(request, session));
      const remote = async () => (await first.invoker.find(id))?.remote?.taskId;
      await expect.poll(remote).toBeDefined();
    }
    await using second = await invokerOf('bob', server.url, store);
    gate.resolve();
    await second.invoker.wait(id);
  }
}

test('every metric and span of the reference comes out, and none that it does not name', async () => {
  let status = 400;
  const collector = keep(await OtlpCollector.open(() => status));
  const telemetry = keep(await startTelemetry({ otlp: { endpoint: collector.endpoint } }));
  // The first report is refused: what is lost is counted.
  startSpan('legate.turn').end();
  await telemetry.flush();
  status = 200;
  for (const scene of [
    modelsAndTools,
    embeddings,
    webhooks,
    refusals,
    bus,
    peers,
    database,
    fullStore,
  ])
    await scene();
  await assistants(collector.endpoint);
  // Where a call is one stream from beginning to end.
  const fluent = keep(await serve(answering('fluent'), { drainMs: 0 }));
  await using calling = await invokerOf('fluent', fluent.url, openMemory());
  await calling.invoker.invokeAndWait({ agent: 'fluent', skill: 'fluent', message: 'x' }, session);

  const told = async () => {
    await telemetry.flush();
    return [...collector.metrics.keys()].sort();
  };
  await expect.poll(told).toEqual(Object.keys(metricTable).sort());
  for (const [name, metric] of collector.metrics) {
    const { labels } = metricTable[name as keyof typeof metricTable];
    const points = pointsOf(metric);
    expect(points.length, name).toBeGreaterThan(0);
    for (const { attributes } of points) {
      expect(attributes.map(({ key }) => key).sort(), name).toEqual([...labels].sort());
    }
  }
  const spans = async () => {
    await telemetry.flush();
    return [...new Set(collector.spans.map(({ name }) => operationOf(name)))].sort();
  };
  await expect.poll(spans).toEqual(Object.keys(spanTable).sort());
  for (const [name, { attributes, isOfPeer = false }] of Object.entries(spanTable)) {
    const known = [...attributes, ...(isOfPeer ? peerAttributes : [])];
    const seen = collector.spans.filter((span) => operationOf(span.name) === name);
    const keys = new Set(seen.flatMap((span) => span.attributes.map(({ key }) => key)));
    expect([...keys].sort(), name).toEqual(known.sort());
  }
});
