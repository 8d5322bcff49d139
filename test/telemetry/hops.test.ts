import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agent,
  llmAgent,
  mcpTools,
  remoteAgent,
  textOf,
} from '../../src/agents/index.ts';
import { mcpHandler } from '../../src/tasks/index.ts';
import { RemoteActions, serveAssistant } from '../../src/assistant/index.ts';
import { busLink, gateway, hostOnBus, openBus } from '../../src/bus/index.ts';
import { connect } from '../../src/client/index.ts';
import { grpcBinding, serveGrpc } from '../../src/grpc/index.ts';
import { GrpcClient } from '../../src/grpc/testing/grpc-client.ts';
import { serve } from '../../src/http/index.ts';
import { McpConnection } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { artifact, message } from '../../src/protocol/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { silentLogger, startTelemetry } from '../../src/telemetry/index.ts';
import { domain, TestClock } from '../../src/assistant/testing/domain.ts';
import { greenhouseFolder } from '../support/greenhouse.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';
import { joinPeers } from '../../src/peers/index.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const tracestate = 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7';
const trace = { traceparent, tracestate };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function keep<T extends AsyncDisposable>(opened: T): T {
  closing.push(() => Promise.resolve(opened[Symbol.asyncDispose]()));
  return opened;
}

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(textOf(turn.message));
});

/** The trace that came with a request. */
interface Seen {
  readonly parent: unknown;
  readonly state: unknown;
}

/** Something that is called over HTTP by others, and remembers under which trace. */
async function listener(answer = '{}') {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const { traceparent: parent, tracestate: state } = request.headers;
      seen.push({ parent, state });
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, seen };
}

async function served(agentToServe: Agent, options = {}) {
  const server = keep(await serve(agentToServe, { drainMs: 0, ...options }));
  return server.url;
}

async function* one(text: string) {
  yield artifact(text);
}

/** Sends a message under the trace. */
async function send(url: string, binding: 'JSONRPC' | 'HTTP+JSON' = 'JSONRPC') {
  const client = await connect(url, { binding, headers: trace });
  return client.sendMessage('x');
}

/**
 * The hops of a trace. Each takes a message under a trace in at one end; `legate.turn` of the last
 * agent, another span, or a header at the other end shows that it arrived.
 */
const hops: Readonly<Record<string, () => Promise<string | readonly Seen[]>>> = {
  'JSON-RPC into a turn': async () => {
    await send(await served(echo));
    return 'legate.turn';
  },
  'REST into a turn': async () => {
    await send(await served(echo), 'HTTP+JSON');
    return 'legate.turn';
  },
  'gRPC into a turn': async () => {
    const server = keep(await serve(echo, { drainMs: 0 }));
    const door = await serveGrpc(server.router, {});
    closing.push(() => door.close({ graceMs: 0 }));
    const client = await GrpcClient.connect({
      url: door.url,
      version: '1.0',
      metadata: trace,
    });
    closing.push(async () => client[Symbol.dispose]());
    await client.call('sendMessage', { message: message('x') });
    return 'legate.turn';
  },
  'the REST channel into a turn': async () => {
    const folder = keep(await greenhouseFolder({ 'endpoints.yml': 'store: {type: memory}\n' }));
    const serving = keep(
      await serveAssistant({
        places: { directory: folder.directory },
        environment: {},
        drainMs: 0,
      }),
    );
    const response = await fetch(`${serving.url}/webhooks/rest/webhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...trace },
      body: JSON.stringify({ sender: 'ada', message: 'hello' }),
    });
    expect(response.status).toBe(200);
    return 'legate.turn';
  },
  'a turn over gRPC to a remote agent': async () => {
    const far = keep(
      await serve(
        agent({ name: 'far' }, () => one('x')),
        { drainMs: 0 },
      ),
    );
    const door = await serveGrpc(far.router, {});
    closing.push(() => door.close({ graceMs: 0 }));
    const card = {
      ...(await connect(far.url)).card,
      supportedInterfaces: [
        { url: door.url, protocolBinding: 'GRPC', protocolVersion: '1.0' } as const,
      ],
    };
    const near = remoteAgent(card, { name: 'near', bindings: [grpcBinding()] });
    await send(await served(near));
    return 'legate.turn of far';
  },
  'a turn to a remote agent': async () => {
    const far = agent({ name: 'far' }, async function* () {
      yield artifact('x');
    });
    await send(await served(remoteAgent(await served(far), { name: 'near' })));
    return 'legate.turn of far';
  },
  'a turn to a peer over HTTP': async () => {
    const far = agent({ name: 'far' }, async function* () {
      yield artifact('x');
    });
    const network = keep(
      await joinPeers({
        name: 'me',
        store: openMemory(),
        wellKnown: [{ name: 'far', url: await served(far) }],
      }),
    );
    const calling = agent({ name: 'near' }, async function* ({ caller }) {
      const session = { id: 'c', caller };
      await network.invoker.invokeAndWait({ agent: 'far', skill: 'far', message: 'x' }, session);
      yield artifact('x');
    });
    await send(await served(calling));
    return 'legate.turn of far';
  },
  'a turn to a peer over the bus': async () => {
    const bus = keep(await openBus({ type: 'memory' }));
    keep(await hostOnBus(echo, { bus }));
    const network = keep(
      await joinPeers({
        name: 'me',
        store: openMemory(),
        links: [busLink({ bus })],
        wellKnown: [{ name: 'echo' }],
      }),
    );
    const calling = agent({ name: 'near' }, async function* ({ caller }) {
      const session = { id: 'c', caller };
      await network.invoker.invokeAndWait({ agent: 'echo', skill: 'echo', message: 'x' }, session);
      yield artifact('x');
    });
    await send(await served(calling));
    return 'legate.turn of echo';
  },
  'the gateway over the bus into a turn': async () => {
    const bus = keep(await openBus({ type: 'memory' }));
    keep(await hostOnBus(echo, { bus }));
    const server = keep(await gateway({ bus, agents: ['echo'], drainMs: 0 }));
    await send(server.url);
    return 'legate.messaging.process of task';
  },
  'a task to its webhook': async () => {
    const webhook = await listener();
    const url = await served(echo, { push: {} });
    const client = await connect(url, { headers: trace });
    await client.sendMessage({
      message: message('x'),
      configuration: { taskPushNotificationConfig: { url: webhook.url } },
    });
    await expect.poll(() => webhook.seen.length, { timeout: 20_000 }).toBeGreaterThan(0);
    return webhook.seen;
  },
  'a tool call to an MCP server': async () => {
    const mcp = await mcpHandler(echo);
    const server = createServer((request, response) => void mcp.handler(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(async () => {
      await mcp.close();
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connection = new McpConnection({ name: 'tools', url });
    closing.push(() => connection.close());
    const model = scriptedModel([
      { toolCalls: [{ name: 'echo', input: { message: 'x' } }] },
      'done',
    ]);
    await send(await served(llmAgent({ name: 'asks', model, tools: [mcpTools({ connection })] })));
    return 'legate.mcp.call';
  },
  'a request of any MCP client into an agent': async () => {
    const mcp = await mcpHandler(echo);
    const server = createServer((request, response) => void mcp.handler(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(async () => {
      await mcp.close();
      server.closeAllConnections();
      server.close();
    });
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const client = new Client({ name: 'any', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(url, { requestInit: { headers: trace } }),
    );
    closing.push(() => client.close());
    await client.callTool({ name: 'echo', arguments: { message: 'x' } });
    return 'legate.mcp.call';
  },
  'an action to the action server': async () => {
    const { url, seen } = await listener('{"events":[],"responses":[]}');
    const acting = agent({ name: 'acting' }, async function* () {
      await new RemoteActions({ url }).run({
        name: 'action_x',
        senderId: 'ada',
        slots: {},
        tracker: () => Promise.resolve({}),
        domain: domain([]),
        context: {},
        channel: 'rest',
        stream: () => Promise.resolve(),
        newId: () => 'id',
        signal: new AbortController().signal,
        clock: new TestClock(),
        logger: silentLogger,
      });
      yield artifact('x');
    });
    await send(await served(acting));
    return seen;
  },
};

test.each(Object.entries(hops))('W3C trace context goes from %s', async (_, hop) => {
  const collector = keep(await OtlpCollector.open());
  const telemetry = keep(await startTelemetry({ otlp: { endpoint: collector.endpoint } }));
  const shown = await hop();
  if (typeof shown !== 'string') {
    expect(shown.length).toBeGreaterThan(0);
    for (const { parent, state } of shown) {
      expect(parent).toMatch(new RegExp(`^00-${traceId}-`));
      expect(state).toBe(tracestate);
    }
    return;
  }
  const [name, of] = shown.split(' of ');
  const matching = async () => {
    await telemetry.flush();
    return collector.spans.filter(
      (span) =>
        span.name === name &&
        (of === undefined || JSON.stringify(span.attributes).includes(`"${of}"`)),
    );
  };
  await expect.poll(async () => (await matching()).length, { timeout: 20_000 }).toBeGreaterThan(0);
  const spans = await matching();
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(new Set(spans.map((span) => span.traceState))).toEqual(new Set([tracestate]));
  const known = new Set(['00f067aa0ba902b7', ...collector.spans.map(({ spanId }) => spanId)]);
  for (const { parentSpanId } of spans) expect(known).toContain(parentSpanId);
});
