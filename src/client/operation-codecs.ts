import { type Dialect, isJsonObject, LegateError, readAgentCard } from '../protocol/index.ts';
import type { Exchanges, TransportStream } from './transport.ts';

/** Encodes the request and decodes the response of one operation. */
export interface OperationCodec<Request, Response> {
  readonly encode: (request: Request) => unknown;
  readonly decode: (wire: unknown) => Response;
}
export type OperationCodecs = {
  readonly [O in keyof Exchanges]: OperationCodec<Exchanges[O][0], Exchanges[O][1]>;
};

/** Accepts messages without an id and artifact updates without parts. */
const lenient = { newMessageId: () => crypto.randomUUID(), allowEmptyParts: true };

function encoder<T>(codec: { encode(value: T): unknown }): (value: T) => unknown {
  return (value) => codec.encode(value);
}

/** The codecs of a dialect, from the client's side. */
export function operationCodecs(dialect: Dialect): OperationCodecs {
  const streamResponse = (wire: unknown) => dialect.streamResponse.decode(wire, lenient);
  const task = (wire: unknown) => dialect.task.decode(wire, lenient);
  const config = (wire: unknown) => dialect.taskPushNotificationConfig.decode(wire);
  return {
    sendMessage: {
      encode: encoder(dialect.sendMessageRequest),
      decode: (wire) => dialect.sendMessageResponse.decode(wire, lenient),
    },
    sendStreamingMessage: {
      encode: encoder(dialect.sendMessageRequest),
      decode: streamResponse,
    },
    getTask: { encode: encoder(dialect.getTaskRequest), decode: task },
    listTasks: {
      encode: encoder(dialect.listTasksRequest),
      decode: (wire) => dialect.listTasksResponse.decode(wire, lenient),
    },
    cancelTask: { encode: encoder(dialect.cancelTaskRequest), decode: task },
    subscribeToTask: { encode: encoder(dialect.subscribeToTaskRequest), decode: streamResponse },
    createTaskPushNotificationConfig: {
      encode: encoder(dialect.taskPushNotificationConfig),
      decode: config,
    },
    getTaskPushNotificationConfig: {
      encode: encoder(dialect.getTaskPushNotificationConfigRequest),
      decode: config,
    },
    listTaskPushNotificationConfigs: {
      encode: encoder(dialect.listTaskPushNotificationConfigsRequest),
      decode: (wire) => dialect.listTaskPushNotificationConfigsResponse.decode(wire),
    },
    deleteTaskPushNotificationConfig: {
      encode: encoder(dialect.deleteTaskPushNotificationConfigRequest),
      // Empty, `null` or `{}`, depending on the SDK.
      decode: () => undefined,
    },
    getExtendedAgentCard: {
      encode: encoder(dialect.getExtendedAgentCardRequest),
      decode: (wire) => readAgentCard(wire),
    },
  };
}

/** Whether a 0.3 peer announces that its stream closes after this event. */
export function isFinalEvent(version: '1.0' | '0.3', event: unknown): boolean {
  if (version !== '0.3' || !isJsonObject(event)) return false;
  const update = event.statusUpdate ?? event.status_update ?? event;
  return isJsonObject(update) && update.final === true;
}

/** Decodes a response; an invalid one becomes `PEER_INVALID`. */
export function decodeAnswer<T>(decode: (wire: unknown) => T, wire: unknown, target: string): T {
  try {
    return decode(wire);
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    throw new LegateError(
      'PEER_INVALID',
      `${target} sent an invalid A2A response: ${error.message}`,
      {
        ...(error.violations !== undefined && { violations: error.violations }),
        cause: error,
      },
    );
  }
}

/** The headers of an operation in any binding. */
export function operationHeaders(
  version: '1.0' | '0.3',
  extensions: readonly string[],
  call: TransportStream,
): Record<string, string> {
  return {
    'A2A-Version': version,
    ...(extensions.length > 0 && {
      [version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions']: extensions.join(', '),
    }),
    ...(isHeaderValue(call.lastEventId) && { 'Last-Event-ID': call.lastEventId }),
    ...call.headers,
  };
}

/** An id that isn't a valid header value is not sent: the peer then starts with a snapshot. */
function isHeaderValue(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e]{1,256}$/.test(id);
}
