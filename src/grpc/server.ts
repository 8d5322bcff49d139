import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
  type handleServerStreamingCall,
  type handleUnaryCall,
} from '@grpc/grpc-js';
import { invalidConfiguration, toLegateError } from '../protocol/index.ts';
import { readTls, type Service, type TlsFiles, watchTls } from '../service/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { waitAtMost } from '../time/index.ts';
import { answerOnce, answerStream, type CallContext } from './answer.ts';
import { CallAdmission } from './admission.ts';
import { loadMethods, type RpcMethod } from './methods.ts';
import type { GrpcLimits } from './serve-grpc.ts';
import { type CallStatus, Statuses } from './status.ts';

export interface RunningServer {
  readonly port: number;
  close(graceMs: number): Promise<void>;
}

type Fail = (thrown: unknown) => CallStatus;

/** Starts the gRPC server. This module and its imports load grpc-js. */
export async function startServer(options: {
  readonly service: Service;
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly limits: GrpcLimits;
  readonly logger: Logger;
}): Promise<RunningServer> {
  const { service, host, port, tls, limits, logger } = options;
  const [methods, statuses] = await Promise.all([loadMethods(), Statuses.load()]);
  const fail: Fail = (thrown) => {
    const error = toLegateError(thrown);
    if (error.code === 'INTERNAL' || error.code === 'INVALID_AGENT_RESPONSE') {
      logger.error({ error: error.cause ?? error }, 'grpc.internal_error');
    }
    return statuses.of(error, service.errorProfile);
  };
  const closing = new AbortController();
  const admission = new CallAdmission({ service, fail, arrivalTimeoutMs: limits.arrivalTimeoutMs });
  const context: CallContext = {
    service,
    admission,
    maxBufferedBytes: limits.maxBufferedBytes,
    closing: closing.signal,
  };
  const server = new Server({
    'grpc.max_receive_message_length': limits.maxMessageBytes,
    'grpc.max_concurrent_streams': limits.maxConcurrentCalls,
    'grpc.keepalive_time_ms': limits.keepAliveMs,
    'grpc.max_connection_idle_ms': limits.maxIdleMs,
    interceptors: [admission.interceptor],
  });
  for (const method of methods) register(server, context, method, fail);
  const credentials = tls === undefined ? undefined : new TlsCredentials(tls, logger);
  const stop = (): void => {
    server.forceShutdown();
    credentials?.stop();
  };
  try {
    const bound = await bind(server, credentials ?? ServerCredentials.createInsecure(), host, port);
    let closed: Promise<void> | undefined;
    return {
      port: bound,
      close: (graceMs) =>
        (closed ??= shutDown(server, service.engine, closing, graceMs).finally(stop)),
    };
  } catch (error) {
    stop();
    throw error;
  }
}

/** Messages stay bytes until their caller is authenticated: requests of unknown callers are never parsed. */
const asBytes = (bytes: Buffer): Buffer => bytes;

function register(server: Server, context: CallContext, method: RpcMethod, fail: Fail): void {
  const { path, streams } = method;
  const definition: ServiceDefinition = {
    method: {
      path,
      requestStream: false,
      responseStream: streams,
      requestSerialize: asBytes,
      requestDeserialize: asBytes,
      responseSerialize: asBytes,
      responseDeserialize: asBytes,
    },
  };
  const once: handleUnaryCall<Buffer, Buffer> = (call, respond) => {
    answerOnce(context, method, call).then(
      (bytes) => respond(null, bytes),
      (thrown: unknown) => respond(fail(thrown)),
    );
  };
  const stream: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    answerStream(context, method, call).then(
      () => call.end(),
      (thrown: unknown) => call.emit('error', fail(thrown)),
    );
  };
  const implementation: UntypedServiceImplementation = { method: streams ? stream : once };
  server.addService(definition, implementation);
}

/** The certificate of the server, reloaded when its files change. */
class TlsCredentials extends ServerCredentials {
  /** Stops watching the files. */
  readonly stop: () => void;

  constructor(files: TlsFiles, logger: Logger) {
    super(
      {
        requestCert: files.ca !== undefined,
        rejectUnauthorized: files.requireClientCertificate === true,
      },
      readTls(files),
    );
    this.stop = watchTls(files, logger, (context) => this.updateSecureContextOptions(context));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function bind(
  server: Server,
  credentials: ServerCredentials,
  host: string,
  port: number,
): Promise<number> {
  const address = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return new Promise((resolve, reject) => {
    server.bindAsync(`${address}:${port}`, credentials, (cause, bound) => {
      if (cause === null) return resolve(bound);
      const why = /EADDRINUSE/.test(cause.message)
        ? `port ${port} is in use: stop the program that uses it, or set another port (--port)`
        : `${address}:${port} can't be opened: ${cause.message}`;
      return reject(invalidConfiguration(why, cause));
    });
  });
}

/** How long the server waits for streams to send their buffered events, in milliseconds. */
const flushMs = 1_000;

/**
 * Accepts no new calls (GOAWAY) and waits up to `graceMs` for calls in flight. When the engine is idle, it
 * ends the open streams; their callers resume on another replica.
 */
async function shutDown(
  server: Server,
  engine: Service['engine'],
  closing: AbortController,
  graceMs: number,
): Promise<void> {
  const deadline = performance.now() + graceMs;
  const done = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  const left = (): number => Math.max(0, deadline - performance.now());
  await waitAtMost(left(), Promise.race([done, engine.idle()]));
  closing.abort();
  await waitAtMost(Math.max(left(), Math.min(flushMs, graceMs)), done);
}
