import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { type Dialect, LegateError, toLegateError, v1 } from '../protocol/index.ts';
import {
  admitStream,
  callOf,
  checkVersion,
  execute,
  extensionHeaders,
  legacyDialect,
  type OperationResult,
  RequestMeter,
  type Service,
  statedVersion,
} from '../service/index.ts';
import { callerGone, type EventStream, type StreamEvent } from '../tasks/index.ts';
import type { CallAdmission } from './admission.ts';
import type { RpcMethod } from './methods.ts';
import { metadataOf } from './status.ts';

/** The dependencies of a call. */
export interface CallContext {
  readonly service: Service;
  readonly admission: CallAdmission;
  /** Maximum number of bytes buffered for a slow reader of a stream. */
  readonly maxBufferedBytes: number;
  /** Aborts when the server has drained. Open streams then end. */
  readonly closing: AbortSignal;
}

type Incoming = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** Answers a unary call. */
export function answerOnce(
  context: CallContext,
  method: RpcMethod,
  call: ServerUnaryCall<Buffer, Buffer>,
): Promise<Buffer> {
  return perform(context, method, call, async (result) =>
    encode(method, result.kind === 'json' ? (JSON.parse(result.text) as unknown) : {}),
  );
}

/** Answers a call with a stream of events; resolves when the stream has ended. */
export function answerStream(
  context: CallContext,
  method: RpcMethod,
  call: ServerWritableStream<Buffer, Buffer>,
): Promise<void> {
  const { closing, maxBufferedBytes } = context;
  return perform(context, method, call, async (result, dialect) => {
    if (result.kind !== 'stream') throw new TypeError(`${method.operation} did not give a stream`);
    const { stream } = result;
    const stop = (): void => stream.finish();
    closing.addEventListener('abort', stop, { once: true });
    if (closing.aborted) stop();
    try {
      const isComplete = await sendEvents(
        stream,
        new BufferedWriter(call, maxBufferedBytes),
        (event) => encodeEvent(method, dialect, event),
      );
      if (!isComplete && closing.aborted) throw shuttingDown();
    } finally {
      closing.removeEventListener('abort', stop);
      stream.close();
    }
  });
}

/** Sends events as fast as the caller reads. Returns true if the last event was sent. */
export async function sendEvents(
  stream: Pick<EventStream, 'next'>,
  writer: BufferedWriter,
  encodeOne: (event: StreamEvent) => Buffer,
): Promise<boolean> {
  while (!writer.isOver) {
    const event = await stream.next();
    if (event === undefined) return false;
    await writer.send(encodeOne(event));
    if (event.isLast) return true;
  }
  return false;
}

/** The part of a server stream that `BufferedWriter` uses. */
interface Sink {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
  write(message: Buffer, onWritten: () => void): unknown;
}

/**
 * Writes messages to one caller. At most `limit` bytes beyond one message are buffered; `send` resolves
 * once the buffer is below the limit, or the call has ended.
 *
 * grpc-js applies backpressure by the number of messages and ignores their size, so this counts bytes.
 */
export class BufferedWriter {
  readonly #sink: Sink;
  readonly #limit: number;
  #buffered = 0;
  #isOver: boolean;
  #wake: (() => void) | undefined;

  constructor(sink: Sink, limit: number) {
    this.#sink = sink;
    this.#limit = limit;
    this.#isOver = sink.cancelled;
    // grpc-js drops the messages of an ended call without calling their write callbacks.
    sink.on('cancelled', () => {
      this.#isOver = true;
      this.#wake?.();
    });
  }

  /** Whether the caller cancelled, or its deadline passed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  async send(message: Buffer): Promise<void> {
    if (this.#isOver) return;
    this.#buffered += message.length;
    this.#sink.write(message, () => {
      this.#buffered -= message.length;
      if (this.#buffered <= this.#limit) this.#wake?.();
    });
    if (this.#buffered <= this.#limit) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}

/** Runs the operation of a call and sends its result. */
async function perform<T>(
  { service, admission }: CallContext,
  method: RpcMethod,
  call: Incoming,
  send: (result: OperationResult, dialect: Dialect) => Promise<T>,
): Promise<T> {
  const { version, operation, path } = method;
  using meter = new RequestMeter('grpc');
  meter.operation = operation;
  using admitted = admission.take(call.metadata);
  const { caller, address, headers, isLocal } = admitted;
  try {
    using _stream = method.streams ? admitStream(service, caller, address, admitted) : undefined;
    checkVersion(service, statedVersion(headers), { expected: version, what: 'service' });
    const params = method.request.decode(call.request);
    const asked = callOf(headers, { caller, version, isLocal, signal: signalOf(call) });
    const dialect = version === '1.0' ? v1 : legacyDialect(service, caller);
    const result = await execute(service, operation, dialect, params, asked);
    call.sendMetadata(metadataOf(extensionHeaders(service, asked) ?? {}));
    if (result.kind === 'stream') meter.stream();
    return await send(result, dialect);
  } catch (thrown) {
    const error = toLegateError(thrown);
    meter.error = error.code;
    service.audit.denied(error, { address, what: path, caller });
    throw thrown;
  }
}

/** Aborts when the caller cancels or its deadline passes. The task continues. */
function signalOf(call: Incoming): AbortSignal {
  const controller = new AbortController();
  if (call.cancelled) controller.abort(callerGone());
  else call.on('cancelled', () => controller.abort(callerGone()));
  return controller.signal;
}

function encodeEvent(method: RpcMethod, dialect: Dialect, { body, isLast }: StreamEvent): Buffer {
  const isModel = dialect.version === '1.0';
  return encode(method, isModel ? body.value : dialect.streamResponse.encode(body.value, isLast));
}

/** Throws for JSON nested deeper than 100 levels, the limit of protobuf readers. */
function encode(method: RpcMethod, json: unknown): Buffer {
  try {
    return method.response.encode(json);
  } catch (cause) {
    throw new LegateError(
      'INVALID_AGENT_RESPONSE',
      'the response cannot be encoded in protobuf; request it over JSON-RPC or HTTP+JSON',
      { cause },
    );
  }
}

function shuttingDown(): LegateError {
  return new LegateError('UNAVAILABLE', 'the server is shutting down; subscribe again to continue');
}
