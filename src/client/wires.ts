import { type Dialect, LegateError, readAgentCard } from '../protocol/index.ts';
import type { Exchanges } from './transport.ts';

/** How one operation is spelled. */
export interface Wire<Request, Response> {
  readonly encode: (request: Request) => unknown;
  readonly decode: (wire: unknown) => Response;
}
export type Wires = { readonly [O in keyof Exchanges]: Wire<Exchanges[O][0], Exchanges[O][1]> };

/** A peer that forgets the id of a message, or closes an artifact with no parts, is understood. */
const lenient = { newMessageId: () => crypto.randomUUID(), allowEmptyParts: true };

/** How a dialect spells each operation, seen from the client. */
export function wiresOf(dialect: Dialect): Wires {
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
