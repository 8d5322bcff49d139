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
  /** As in the HTTP/2 request: `/package.Service/Method`. */
  readonly path: string;
  readonly bytes: Buffer;
  /** For errors: what was asked, and where. */
  readonly target: string;
}

/**
 * The connection to one peer, shared by all calls. It is made with the first of them, and made again
 * after it broke; without calls it keeps no process alive. Once it is **closing**, calls under way
 * come to their ends, and the last of them **closes** it.
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
      // The client repeats, and knows what may be.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_channelz': 0,
      // A failed lookup by another call does not delay this one.
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

  /** Resolves with the first event: what is known to fail before is an error and no stream. */
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
      // A connection that breaks after the peer took the request did open, which the reader learns.
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
    // Cancelling makes an error after the last reader has left.
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
    // An abort may look like an end.
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

/** What belongs to a connection and not to a request; HTTP/2 refuses it. */
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

/** A value that cannot be sent is refused without being quoted, for it may be a secret. */
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
