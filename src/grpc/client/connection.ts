import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { BindingCall, BindingLimits } from '../../client/index.ts';
import { invalidConfiguration, LegateError } from '../../protocol/index.ts';
import type { Statuses } from '../status.ts';
import type { Endpoint } from './endpoint.ts';
import { failureOf } from './failure.ts';
import type { GrpcTls } from './grpc-binding.ts';

export interface ConnectionParts {
  readonly endpoint: Endpoint;
  readonly isEncrypted: boolean;
  readonly tls: GrpcTls;
  readonly limits: BindingLimits;
  readonly statuses: Statuses;
}

/** A request as bytes. */
export interface ByteRequest {
  /** The path of the HTTP/2 request: `/package.Service/Method`. */
  readonly path: string;
  readonly bytes: Buffer;
  /** The operation and the peer, for errors. */
  readonly target: string;
}

/**
 * The connection to one peer, shared by all calls. grpc-js connects on the first call and reconnects after
 * a failure. Without calls the connection does not keep the process alive. While it is **closing**, calls
 * in flight continue, and the last one **closes** it.
 */
export class Connection {
  readonly #client: Client;
  readonly #limits: BindingLimits;
  readonly #statuses: Statuses;
  #callsUnderWay = 0;
  #isClosing = false;

  constructor({ endpoint, isEncrypted, tls, limits, statuses }: ConnectionParts) {
    this.#limits = limits;
    this.#statuses = statuses;
    this.#client = new Client(endpoint.target, isEncrypted ? secured(tls) : plain(), {
      ...endpoint.options,
      'grpc.max_receive_message_length': Math.max(limits.maxBodySize, limits.maxEventSize),
      // The A2A client retries; it can tell which requests are safe to repeat.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_channelz': 0,
      // The failed DNS lookup of another client must not delay this one.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  async call(request: ByteRequest, call: BindingCall): Promise<Buffer> {
    using _ = this.#underWay();
    return await this.#send(request, call);
  }

  #send(request: ByteRequest, call: BindingCall): Promise<Buffer> {
    const { signal } = call;
    const { path, bytes } = request;
    const metadata = metadataOf(call.headers);
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const answered = (error: ServiceError | null, answer: Buffer = Buffer.alloc(0)): void => {
        signal?.removeEventListener('abort', cancel);
        try {
          if (error !== null) throw error;
          resolve(checked(answer, this.#limits.maxBodySize, 'maxBodySize', request));
        } catch (thrown) {
          reject(this.#failure(thrown, request, signal));
        }
      };
      const sent = this.#client.makeUnaryRequest<Buffer, Buffer>(
        path,
        asBytes,
        asBytes,
        bytes,
        metadata,
        callOptions(call),
        answered,
      );
      const cancel = (): void => sent.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Resolves with the first event. Rejects if the call fails before the stream opens. */
  async stream(request: ByteRequest, call: BindingCall): Promise<AsyncIterable<Buffer>> {
    let hasStarted = false;
    const events = this.#events(request, call, () => {
      hasStarted = true;
    });
    let first: IteratorResult<Buffer> | undefined;
    let failure: LegateError | undefined;
    try {
      first = await events.next();
    } catch (error) {
      // A connection that fails after the peer sent headers had opened, so the reader gets the error.
      if (!hasStarted || !isBreak(error)) throw error;
      failure = error;
    }
    return (async function* () {
      try {
        if (failure !== undefined) throw failure;
        if (first?.done === false) yield first.value;
        yield* events;
      } finally {
        await events.return(undefined);
      }
    })();
  }

  close(): void {
    this.#isClosing = true;
    if (this.#callsUnderWay === 0) this.#client.close();
  }

  #underWay(): Disposable {
    this.#callsUnderWay += 1;
    return {
      [Symbol.dispose]: () => {
        this.#callsUnderWay -= 1;
        if (this.#isClosing) this.close();
      },
    };
  }

  async *#events(
    request: ByteRequest,
    call: BindingCall,
    onStart: () => void,
  ): AsyncGenerator<Buffer> {
    const { signal } = call;
    signal?.throwIfAborted();
    using _ = this.#underWay();
    const sent = this.#client.makeServerStreamRequest<Buffer, Buffer>(
      request.path,
      asBytes,
      asBytes,
      request.bytes,
      metadataOf(call.headers),
      callOptions(call),
    );
    sent.on('metadata', onStart);
    // Cancelling emits an error after the last reader has stopped.
    sent.on('error', () => undefined);
    const cancel = (): void => sent.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      for await (const bytes of sent) {
        yield checked(bytes as Buffer, this.#limits.maxEventSize, 'maxEventSize', request);
      }
    } catch (error) {
      throw this.#failure(error, request, signal);
    } finally {
      signal?.removeEventListener('abort', cancel);
      sent.cancel();
    }
    // grpc-js can end the stream without an error after an abort.
    signal?.throwIfAborted();
  }

  #failure(error: unknown, { target }: ByteRequest, signal: AbortSignal | undefined): Error {
    if (signal?.aborted === true) return signal.reason as Error;
    return failureOf(error, this.#statuses, target);
  }
}

const asBytes = (bytes: Buffer): Buffer => bytes;

function plain(): ChannelCredentials {
  return credentials.createInsecure();
}

function secured({
  ca,
  certificate,
  key,
  dangerouslyAllowUnverified = false,
}: GrpcTls): ChannelCredentials {
  const bytes = (pem: string | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem);
  try {
    return credentials.createSsl(bytes(ca), bytes(key), bytes(certificate), {
      rejectUnauthorized: !dangerouslyAllowUnverified,
    });
  } catch (cause) {
    throw invalidConfiguration(
      'the tls of grpcBinding cannot be used: ca, certificate and key are PEM, and a certificate goes with its key',
      cause,
    );
  }
}

function callOptions({ timeoutMs }: BindingCall): CallOptions {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

/** Headers of a connection, which HTTP/2 refuses in requests. */
const unsent = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Errors for invalid values don't quote them: a value can be a secret. */
function metadataOf(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    if (unsent.has(name)) continue;
    try {
      metadata.set(name, value);
    } catch {
      throw invalidConfiguration(
        `the header ${JSON.stringify(name)} cannot be sent over gRPC: a name has letters, digits, "-", "_" and "." and does not end with "-bin", and a value is plain ASCII`,
      );
    }
  }
  return metadata;
}

function checked(bytes: Buffer, limit: number, option: string, request: ByteRequest): Buffer {
  if (bytes.byteLength <= limit) return bytes;
  throw new LegateError(
    'PEER_INVALID',
    `${request.target} answered with more than ${limit} bytes (${option})`,
  );
}

function isBreak(error: unknown): error is LegateError {
  return (
    error instanceof LegateError &&
    (error.code === 'PEER_UNREACHABLE' || error.code === 'UNAVAILABLE')
  );
}
