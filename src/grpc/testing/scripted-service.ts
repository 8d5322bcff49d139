import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { AgentCard, Operation, ProtocolVersion } from '../../protocol/index.ts';
import { loadMethods, type RpcMethod } from '../methods.ts';

type Incoming = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** What came in. */
export interface ScriptedCall {
  readonly json: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970; Infinity without one. */
  readonly deadline: number;
  /** Aborts when the caller gives up. */
  readonly signal: AbortSignal;
}

/**
 * JSON to answer with, or bytes to send as they are, now or later; of a stream an async iterable of
 * them. A `StatusError` that is thrown ends the call with it.
 */
export type Answer = (call: ScriptedCall) => unknown;

/** How a call ends that does not end well. */
export class StatusError extends Error {
  readonly code: number;
  readonly details: string;
  readonly metadata = new Metadata();

  constructor(code: number, details = '') {
    super(details);
    this.code = code;
    this.details = details;
  }
}

export interface ScriptedService extends AsyncDisposable {
  readonly port: number;
  readonly card: AgentCard;
}

/** A service with scripted answers. Methods without a script are unimplemented. */
export async function startScriptedService(
  script: Partial<Record<Operation, Answer>>,
  { version = '1.0', port = 0 }: { version?: ProtocolVersion; port?: number } = {},
): Promise<ScriptedService> {
  const server = new Server();
  for (const method of await loadMethods()) {
    const answer = script[method.operation];
    if (answer !== undefined && method.version === version) register(server, method, answer);
  }
  const bound = await new Promise<number>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, number) => {
      if (error === null) resolve(number);
      else reject(error);
    });
  });
  return {
    port: bound,
    card: cardOf(`127.0.0.1:${bound}`, version),
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

/** An agent that is called over gRPC and in no other way. */
export function cardOf(url: string, protocolVersion: ProtocolVersion = '1.0'): AgentCard {
  return {
    name: 'scripted',
    description: 'says what it is told to',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
}

const asBytes = (bytes: Buffer): Buffer => bytes;

function register(server: Server, method: RpcMethod, answer: Answer): void {
  const definition: ServiceDefinition = {
    method: {
      path: method.path,
      requestStream: false,
      responseStream: method.streams,
      requestSerialize: asBytes,
      requestDeserialize: asBytes,
      responseSerialize: asBytes,
      responseDeserialize: asBytes,
    },
  };
  const bytesOf = (value: unknown): Buffer =>
    Buffer.isBuffer(value) ? value : method.response.encode(value);
  const stream: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    pour(answer(incoming(method, call)) as AsyncIterable<unknown>, call, bytesOf).then(
      () => call.end(),
      (error: unknown) => call.emit('error', error),
    );
  };
  const once: handleUnaryCall<Buffer, Buffer> = (call, respond) => {
    (async () => answer(incoming(method, call)))().then(
      (value) => respond(null, bytesOf(value)),
      (error: unknown) => respond(error as StatusError),
    );
  };
  const implementation: UntypedServiceImplementation = { method: method.streams ? stream : once };
  server.addService(definition, implementation);
}

async function pour(
  events: AsyncIterable<unknown>,
  call: ServerWritableStream<Buffer, Buffer>,
  bytesOf: (value: unknown) => Buffer,
): Promise<void> {
  for await (const event of events) call.write(bytesOf(event));
}

function incoming(method: RpcMethod, call: Incoming): ScriptedCall {
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort());
  const deadline = call.getDeadline();
  return {
    json: method.request.decode(call.request),
    headers: call.metadata.getMap(),
    deadline: Number(deadline),
    signal: controller.signal,
  };
}
