import type { Metadata, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { execute, extensionHeaders, type OperationResult, type Service } from '../http/index.ts';
import { LegateError, toLegateError, v03Rest, v1 } from '../protocol/index.ts';
import { callerGone, type EventStream, type StreamEvent } from '../tasks/index.ts';
import type { Admission, Entrance } from './entrance.ts';
import { callOf, checkVersion } from './grpc-call.ts';
import type { RpcMethod } from './methods.ts';
import { Outflow } from './outflow.ts';
import { metadataOf } from './status.ts';

/** What answering a call needs to know of the door. */
export interface DoorContext {
  readonly service: Service;
  readonly entrance: Entrance;
  /** Bytes that may wait for the caller of a stream to read. */
  readonly maxWaitingBytes: number;
  /** Aborts when the door has drained: streams that are left are then ended. */
  readonly closing: AbortSignal;
}

type Incoming = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

const dialects = { '1.0': v1, '0.3': v03Rest } as const;

/** Answers a call that has one answer; rejects with the reason why it has none. */
export async function answerOnce(
  context: DoorContext,
  method: RpcMethod,
  call: ServerUnaryCall<Buffer, Buffer>,
): Promise<Buffer> {
  using admission = context.entrance.take(call.metadata);
  const result = await audited(context, method, admission, () =>
    perform(context, method, call, admission),
  );
  const json = result.kind === 'json' ? (JSON.parse(result.text) as unknown) : {};
  return encode(method, json);
}

/** Sends a stream to its end; rejects with the reason of a bad one. */
export async function answerStream(
  context: DoorContext,
  method: RpcMethod,
  call: ServerWritableStream<Buffer, Buffer>,
): Promise<void> {
  const { service, entrance, closing } = context;
  using admission = entrance.take(call.metadata);
  using _stream = await audited(context, method, admission, async () =>
    service.callerLimits.stream(admission.caller, admission.address),
  );
  // Streams are counted apart from calls, so that a caller with many of them can still cancel.
  admission[Symbol.dispose]();
  const result = await audited(context, method, admission, () =>
    perform(context, method, call, admission),
  );
  if (result.kind !== 'stream') throw new TypeError(`${method.operation} did not give a stream`);
  const { stream } = result;
  const stop = (): void => stream.finish();
  closing.addEventListener('abort', stop, { once: true });
  if (closing.aborted) stop();
  try {
    const isComplete = await pour(stream, new Outflow(call, context.maxWaitingBytes), (event) =>
      encodeEvent(method, event),
    );
    if (!isComplete && closing.aborted) throw stopping();
  } finally {
    closing.removeEventListener('abort', stop);
    stream.close();
  }
}

/**
 * Sends events as fast as the caller reads, pulling no more meanwhile. True when the stream came to
 * its end.
 */
export async function pour(
  stream: Pick<EventStream, 'next'>,
  outflow: Outflow,
  encodeOne: (event: StreamEvent) => Buffer,
): Promise<boolean> {
  while (!outflow.isOver) {
    const event = await stream.next();
    if (event === undefined) return false;
    await outflow.send(encodeOne(event));
    if (event.isLast) return true;
  }
  return false;
}

/** Refusals stand in the audit log, as those of the HTTP doors do. */
async function audited<T>(
  { service }: DoorContext,
  { path }: RpcMethod,
  { caller, address }: Admission,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    service.audit.denied(toLegateError(thrown), { address, what: path, caller });
    throw thrown;
  }
}

async function perform(
  { service }: DoorContext,
  method: RpcMethod,
  call: Incoming,
  admission: Admission,
): Promise<OperationResult> {
  checkVersion(service, call.metadata, method.version);
  const params = method.request.decode(call.request);
  const asked = callOf(call.metadata, admission, method.version, signalOf(call));
  const dialect = dialects[method.version];
  const result = await execute(service, method.operation, dialect, params, asked);
  call.sendMetadata(answerMetadata(service, asked));
  return result;
}

function answerMetadata(service: Service, call: ReturnType<typeof callOf>): Metadata {
  return metadataOf(extensionHeaders(service, call) ?? {});
}

/** Aborts when the caller cancels or its deadline passes: waiting ends, and the task goes on. */
function signalOf(call: Incoming): AbortSignal {
  const controller = new AbortController();
  if (call.cancelled) controller.abort(callerGone());
  else call.on('cancelled', () => controller.abort(callerGone()));
  return controller.signal;
}

function encodeEvent(method: RpcMethod, { body, isLast }: StreamEvent): Buffer {
  const { version } = method;
  return encode(
    method,
    version === '1.0' ? body.value : dialects[version].streamResponse.encode(body.value, isLast),
  );
}

/** Protobuf readers stop at a hundred levels, where JSON of ours may go a little deeper. */
function encode(method: RpcMethod, json: unknown): Buffer {
  try {
    return method.response.encode(json);
  } catch (cause) {
    throw new LegateError(
      'INVALID_AGENT_RESPONSE',
      'the answer cannot be written in protobuf; ask for it over JSON-RPC or HTTP+JSON',
      { cause },
    );
  }
}

function stopping(): LegateError {
  return new LegateError('UNAVAILABLE', 'the server is stopping; subscribe again to go on');
}
