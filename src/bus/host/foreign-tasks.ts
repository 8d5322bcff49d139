import type { Caller } from '../../agents/index.ts';
import { isInterrupted, LegateError, type SendMessageRequest } from '../../protocol/index.ts';
import { type Service, serviceOperations } from '../../service/index.ts';
import type { Call } from '../../tasks/index.ts';
import { headerNames } from '../exchange.ts';
import type { BusMessage } from '../transport/bus.ts';
import { digestId } from '../../store/index.ts';

const { getTask } = serviceOperations;

/** Whether the sender chooses the ids of its tasks, as RockBot does. */
export function isForeign({ headers }: BusMessage): boolean {
  return headers[headerNames.dialect] === 'rockbot';
}

/** Our id of a task whose id its caller chose. It covers the caller, so it can't address tasks of others. */
export function foreignTaskId(caller: Caller, taskId: string): string {
  return digestId(caller.tenant, caller.subject, taskId);
}

/**
 * The request of a sender that chooses task ids: the first message with an id starts the task, a further
 * one continues it while it waits for its caller.
 */
export async function asForeign(
  service: Service,
  delivery: BusMessage,
  request: SendMessageRequest,
  call: Call,
): Promise<{ readonly request: SendMessageRequest; readonly call: Call }> {
  const { correlationId } = delivery;
  if (!isForeign(delivery) || correlationId === undefined) return { request, call };
  const id = foreignTaskId(call.caller, correlationId);
  const { message } = request;
  const inContext = (contextId: string, more = {}): SendMessageRequest => ({
    ...request,
    message: { ...message, contextId, ...more },
  });
  try {
    const { value: task } = await getTask.perform(service, { id, historyLength: 100 }, call);
    const isKnown = task.history?.some(({ messageId }) => messageId === message.messageId) === true;
    // A redelivery must equal the first delivery, so that the engine detects the duplicate.
    if (isKnown) {
      const contextId = message.contextId ?? id;
      return { request: inContext(contextId), call: { ...call, newTaskId: id } };
    }
    const continues = isInterrupted(task.status.state);
    return { request: inContext(task.contextId, continues ? { taskId: id } : {}), call };
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_FOUND') throw error;
    return {
      request: inContext(message.contextId ?? id),
      call: { ...call, newTaskId: id },
    };
  }
}
