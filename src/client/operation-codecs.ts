import { type Dialect, LegateError, readAgentCard } from '../protocol/index.ts';
import type { Exchanges, TransportStream } from './transport.ts';

/** How one operation is spelled. */
export interface OperationCodec<Request, Response> {
  readonly encode: (request: Request) => unknown;
  readonly decode: (wire: unknown) => Response;
}
export type OperationCodecs = {
  readonly [O in keyof Exchanges]: OperationCodec<Exchanges[O][0], Exchanges[O][1]>;
};

/** A peer that forgets the id of a message, or closes an artifact with no parts, is understood. */
const lenient = { newMessageId: () => crypto.randomUUID(), allowEmptyParts: true };

/** How a dialect spells each operation, seen from the client. */
export function operationCodecs(dialect: Dialect): OperationCodecs {
  const streamResponse = (wire: unknown) => dialect.streamResponse.decode(wire, lenient);
  const task = (wire: unknown) => dialect.task.decode(wire, lenient);
  const config = (wire: unknown) => dialect.taskPushNotificationConfig.decode(wire);
  return {
    sendMessage: {
      encode: (request) => dialect.sendMessageRequest.encode(request),
      decode: (wire) => dialect.sendMessageResponse.decode(wire, lenient),
    },
    sendStreamingMessage: {
      encode: (request) => dialect.sendMessageRequest.encode(request),
      decode: streamResponse,
    },
    getTask: { encode: (request) => dialect.getTaskRequest.encode(request), decode: task },
    listTasks: {
      encode: (request) => dialect.listTasksRequest.encode(request),
      decode: (wire) => dialect.listTasksResponse.decode(wire, lenient),
    },
    cancelTask: { encode: (request) => dialect.cancelTaskRequest.encode(request), decode: task },
    subscribeToTask: {
      encode: (request) => dialect.subscribeToTaskRequest.encode(request),
      decode: streamResponse,
    },
    createTaskPushNotificationConfig: {
      encode: (request) => dialect.taskPushNotificationConfig.encode(request),
      decode: config,
    },
    getTaskPushNotificationConfig: {
      encode: (request) => dialect.getTaskPushNotificationConfigRequest.encode(request),
      decode: config,
    },
    listTaskPushNotificationConfigs: {
      encode: (request) => dialect.listTaskPushNotificationConfigsRequest.encode(request),
      decode: (wire) => dialect.listTaskPushNotificationConfigsResponse.decode(wire),
    },
    deleteTaskPushNotificationConfig: {
      encode: (request) => dialect.deleteTaskPushNotificationConfigRequest.encode(request),
      // Empty, `null`, `{}`: every SDK has its own way to say nothing.
      decode: () => undefined,
    },
    getExtendedAgentCard: {
      encode: (request) => dialect.getExtendedAgentCardRequest.encode(request),
      decode: (wire) => readAgentCard(wire),
    },
  };
}

/** Decodes an answer; one that does not fit is the peer's fault, not the caller's. */
export function decodeAnswer<T>(decode: (wire: unknown) => T, wire: unknown, target: string): T {
  try {
    return decode(wire);
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    throw new LegateError('PEER_INVALID', `${target} answered what is not A2A: ${error.message}`, {
      ...(error.violations !== undefined && { violations: error.violations }),
      cause: error,
    });
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

/** An id that a header cannot carry is not sent: the peer then begins with the task as it is. */
function isHeaderValue(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e]{1,256}$/.test(id);
}
