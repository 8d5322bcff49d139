import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  type Dialect,
  operations,
  type StreamResponse,
  sseComment,
  sseFrame,
  toJsonRpcError,
  toRestError,
  v03,
  v03Rest,
  v1,
} from '../../protocol/index.ts';
import { type ConnectOptions, connect } from '../index.ts';
import type { Exchanges } from '../transport.ts';
import { agentCard } from './fixtures.ts';

/** One of the four combinations of binding and version that the client supports. */
export interface Speech {
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  readonly version: '1.0' | '0.3';
}

export const speeches: readonly Speech[] = [
  { binding: 'JSONRPC', version: '1.0' },
  { binding: 'JSONRPC', version: '0.3' },
  { binding: 'HTTP+JSON', version: '1.0' },
  { binding: 'HTTP+JSON', version: '0.3' },
];

/** A request as the agent's script receives it. */
export interface Received {
  readonly operation: keyof Exchanges | 'card';
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The number of requests for this operation, including this one. */
  readonly attempt: number;
  readonly response: ServerResponse;
}

/** The event stream of one connection. */
export interface ScriptedStream {
  send(response: StreamResponse, id?: string | number): void;
  /** Writes text without framing. */
  write(text: string): void;
  keepAlive(): void;
  end(): void;
  /** Cuts the connection. */
  cut(): void;
}

type Answer<O extends keyof Exchanges> = Exchanges[O][1] | Promise<Exchanges[O][1]> | undefined;
type StreamName = 'sendStreamingMessage' | 'subscribeToTask';

/**
 * The behavior of an agent. A thrown `LegateError` is sent as the response. A script that responds
 * through `received.response` returns undefined.
 */
export type Script = {
  [O in Exclude<keyof Exchanges, StreamName>]?: (
    request: Exchanges[O][0],
    received: Received,
  ) => Answer<O>;
} & {
  [O in StreamName]?: (
    request: Exchanges[O][0],
    stream: ScriptedStream,
    received: Received,
  ) => void | Promise<void>;
} & { card?: (received: Received) => void };

export interface ScriptedAgent {
  readonly url: string;
  readonly received: readonly Received[];
  /** The requests for one operation. */
  of(operation: Received['operation']): readonly Received[];
}

/** Starts an agent with one binding and version that follows a script; it stops with the test. */
export async function scriptedAgent(
  speech: Speech,
  script: Script,
  capabilities: { streaming?: boolean } = { streaming: true },
): Promise<ScriptedAgent> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = chunks.length === 0 ? {} : (JSON.parse(String(Buffer.concat(chunks))) as Wire);
      const [path = '', query = ''] = (request.url ?? '').split('?', 2);
      const parsed = parse(speech, request.method ?? '', path, new URLSearchParams(query), body);
      const entry: Received = {
        operation: parsed.operation,
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        attempt: received.filter((each) => each.operation === parsed.operation).length + 1,
        response,
      };
      received.push(entry);
      if (entry.operation === 'card') {
        if (script.card !== undefined) script.card(entry);
        else response.end(JSON.stringify(agentCard({ url, ...speech, ...capabilities })));
        return;
      }
      void answer(speech, script, parsed, entry);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, received, of: (operation) => received.filter((r) => r.operation === operation) };
}

/** A client of such an agent that never waits; `slept` lists the requested pauses. */
export async function connectTo(agent: ScriptedAgent, options: ConnectOptions = {}) {
  const slept: number[] = [];
  const client = await connect(agent.url, {
    random: () => 1,
    closingGraceMs: 20,
    sleep: async (ms, signal) => {
      slept.push(ms);
      // Lets pending network events run, which the test waits for.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
    ...options,
  });
  return { client, slept };
}

type Wire = { [field: string]: unknown };
interface Parsed {
  readonly operation: Received['operation'];
  readonly rpcId: string | number | null;
  readonly wire: Wire;
}

function parse(
  { binding, version }: Speech,
  method: string,
  path: string,
  query: URLSearchParams,
  body: Wire,
): Parsed {
  if (path.includes('/.well-known/')) return { operation: 'card', rpcId: null, wire: {} };
  if (binding === 'JSONRPC') {
    const names = Object.entries(operations);
    const name = names.find(([, row]) => row[version === '1.0' ? 'v1' : 'v03'] === body.method);
    if (name === undefined) throw new Error(`unknown method ${String(body.method)}`);
    return {
      operation: name[0] as keyof Exchanges,
      rpcId: body.id as string,
      wire: (body.params ?? {}) as Wire,
    };
  }
  const [, tenant, task, verb, config] =
    /^(?:\/([^/]+))?\/(?:message|tasks|card|extendedAgentCard)(?:\/([^/:]+))?(?::(\w+)|(\/pushNotificationConfigs(?:\/[^/]+)?))?$/.exec(
      path,
    ) ?? [];
  const taskId =
    task === undefined
      ? {}
      : { [config === undefined ? 'id' : 'taskId']: decodeURIComponent(task) };
  const wire: Wire = { ...Object.fromEntries(query), ...body, ...taskId };
  if (version === '1.0' && tenant !== undefined) wire.tenant = decodeURIComponent(tenant);
  return { operation: restOperation(method, path, verb, config, wire), rpcId: null, wire };
}

function restOperation(
  method: string,
  path: string,
  verb: string | undefined,
  config: string | undefined,
  wire: Wire,
): keyof Exchanges {
  if (verb === 'send') return 'sendMessage';
  if (verb === 'stream') return 'sendStreamingMessage';
  if (verb === 'cancel') return 'cancelTask';
  if (verb === 'subscribe') return 'subscribeToTask';
  if (config !== undefined) {
    const configId = config.split('/')[2];
    if (configId === undefined) {
      return method === 'POST'
        ? 'createTaskPushNotificationConfig'
        : 'listTaskPushNotificationConfigs';
    }
    wire.id = configId;
    return method === 'DELETE'
      ? 'deleteTaskPushNotificationConfig'
      : 'getTaskPushNotificationConfig';
  }
  if (/card/i.test(path)) return 'getExtendedAgentCard';
  return wire.id === undefined ? 'listTasks' : 'getTask';
}

async function answer(speech: Speech, script: Script, parsed: Parsed, received: Received) {
  const { response } = received;
  const dialect = speech.version === '1.0' ? v1 : speech.binding === 'JSONRPC' ? v03 : v03Rest;
  const isRpc = speech.binding === 'JSONRPC';
  const operation = parsed.operation as keyof Exchanges;
  try {
    const request = decoders(dialect)[operation].request(parsed.wire, { fromQuery: true });
    if (operation === 'sendStreamingMessage' || operation === 'subscribeToTask') {
      const stream = openStream(response, dialect, isRpc ? parsed.rpcId : undefined);
      const run = script[operation] as
        | ((request: unknown, stream: ScriptedStream, received: Received) => void | Promise<void>)
        | undefined;
      if (run === undefined) throw new Error(`the script has no ${operation}`);
      await run(request, stream, received);
      return;
    }
    const run = script[operation] as
      | ((request: unknown, received: Received) => unknown)
      | undefined;
    if (run === undefined) throw new Error(`the script has no ${operation}`);
    const value = await run(request, received);
    if (response.writableEnded || response.destroyed) return;
    const body =
      operation === 'deleteTaskPushNotificationConfig'
        ? null
        : decoders(dialect)[operation].response(value as never);
    if (!isRpc && body === null) response.writeHead(204).end();
    else response.end(JSON.stringify(isRpc ? envelope(parsed.rpcId, { result: body }) : body));
  } catch (error) {
    if (isRpc) {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(envelope(parsed.rpcId, { error: toJsonRpcError(error) })));
      return;
    }
    const { status, body } = toRestError(error, { version: speech.version });
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }
}

function envelope(id: string | number | null | undefined, body: object): object {
  return { jsonrpc: '2.0', id, ...body };
}

function openStream(
  response: ServerResponse,
  dialect: Dialect,
  rpcId: string | number | null | undefined,
): ScriptedStream {
  const write = (text: string): void => {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(text);
  };
  return {
    write,
    send: (event, id) => {
      const wire = dialect.streamResponse.encode(event, false);
      const data = JSON.stringify(rpcId === undefined ? wire : envelope(rpcId, { result: wire }));
      write(sseFrame({ ...(id !== undefined && { id }), data }));
    },
    keepAlive: () => write(sseComment('')),
    end: () => {
      if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end();
    },
    cut: () => {
      // Earlier writes arrive before the connection is cut.
      setImmediate(() => response.socket?.destroySoon());
    },
  };
}

type Side = {
  request: (wire: unknown, options: object) => unknown;
  response: (value: never) => unknown;
};

function decoders(dialect: Dialect): { [O in keyof Exchanges]: Side } {
  const side = (
    request: { decode: Side['request'] },
    response: { encode: Side['response'] },
  ): Side => ({
    request: (wire, options) => request.decode(wire, options),
    response: (value) => response.encode(value),
  });
  return {
    sendMessage: side(dialect.sendMessageRequest, dialect.sendMessageResponse),
    sendStreamingMessage: side(dialect.sendMessageRequest, dialect.message),
    getTask: side(dialect.getTaskRequest, dialect.task),
    listTasks: side(dialect.listTasksRequest, dialect.listTasksResponse),
    cancelTask: side(dialect.cancelTaskRequest, dialect.task),
    subscribeToTask: side(dialect.subscribeToTaskRequest, dialect.message),
    createTaskPushNotificationConfig: side(
      dialect.taskPushNotificationConfig,
      dialect.taskPushNotificationConfig,
    ),
    getTaskPushNotificationConfig: side(
      dialect.getTaskPushNotificationConfigRequest,
      dialect.taskPushNotificationConfig,
    ),
    listTaskPushNotificationConfigs: side(
      dialect.listTaskPushNotificationConfigsRequest,
      dialect.listTaskPushNotificationConfigsResponse,
    ),
    deleteTaskPushNotificationConfig: side(
      dialect.deleteTaskPushNotificationConfigRequest,
      dialect.message,
    ),
    getExtendedAgentCard: side(dialect.getExtendedAgentCardRequest, dialect.agentCard),
  };
}
