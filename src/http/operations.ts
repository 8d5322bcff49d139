import { neededScopes } from '../auth/index.ts';
import {
  type Dialect,
  invalidParams,
  Json,
  LegateError,
  type Operation,
  type SendMessageRequest,
  type Task,
} from '../protocol/index.ts';
import type { Call, EventStream, SendOutcome } from '../tasks/index.ts';
import type { Service } from './service.ts';

/** What an operation answers: JSON text as its dialect spells it, a stream of events, or nothing. */
export type OperationResult =
  | { readonly kind: 'json'; readonly text: string; readonly contextId?: string }
  | { readonly kind: 'stream'; readonly stream: EventStream }
  | { readonly kind: 'empty' };

type Handler = (
  service: Service,
  dialect: Dialect,
  params: unknown,
  call: Call,
) => Promise<OperationResult>;

/**
 * The operations, once for all bindings: decode, run, encode. A binding finds the operation, its
 * parameters and the caller, and wraps the answer.
 */
const handlers: Record<Operation, Handler> = {
  async sendMessage(service, dialect, params, call) {
    const request = dialect.sendMessageRequest.decode(params);
    authorise(service, request, call);
    const outcome = await service.engine.send(request, inTenant(call, request.tenant));
    return sendResult(outcome, dialect);
  },
  async sendStreamingMessage(service, dialect, params, call) {
    const request = dialect.sendMessageRequest.decode(params);
    authorise(service, request, call);
    const stream = await service.engine.stream(request, inTenant(call, request.tenant));
    return { kind: 'stream', stream };
  },
  async getTask(service, dialect, params, call) {
    const request = dialect.getTaskRequest.decode(params);
    return taskResult(
      await service.engine.getTask(request, inTenant(call, request.tenant)),
      dialect,
    );
  },
  async listTasks(service, dialect, params, call) {
    const request = dialect.listTasksRequest.decode(params);
    const response = await service.engine.listTasks(request, inTenant(call, request.tenant));
    return json(dialect.listTasksResponse.encode(response));
  },
  async cancelTask(service, dialect, params, call) {
    const request = dialect.cancelTaskRequest.decode(params);
    return taskResult(
      await service.engine.cancelTask(request, inTenant(call, request.tenant)),
      dialect,
    );
  },
  async subscribeToTask(service, dialect, params, call) {
    const request = dialect.subscribeToTaskRequest.decode(params);
    const stream = await service.engine.subscribe(request, inTenant(call, request.tenant));
    return { kind: 'stream', stream };
  },
  async createTaskPushNotificationConfig(service, dialect, params, call) {
    const decoded = dialect.taskPushNotificationConfig.decode(params);
    // In REST the path names the task, and the body may be the bare configuration.
    const taskId = decoded.taskId ?? (params as { readonly taskId?: string }).taskId;
    const created = await service.engine.createPushConfig(
      taskId === undefined ? decoded : { ...decoded, taskId },
      inTenant(call, decoded.tenant),
    );
    return json(dialect.taskPushNotificationConfig.encode(created));
  },
  async getTaskPushNotificationConfig(service, dialect, params, call) {
    const request = dialect.getTaskPushNotificationConfigRequest.decode(params);
    const config = await service.engine.getPushConfig(request, inTenant(call, request.tenant));
    return json(dialect.taskPushNotificationConfig.encode(config));
  },
  async listTaskPushNotificationConfigs(service, dialect, params, call) {
    const request = dialect.listTaskPushNotificationConfigsRequest.decode(params);
    const response = await service.engine.listPushConfigs(request, inTenant(call, request.tenant));
    return json(dialect.listTaskPushNotificationConfigsResponse.encode(response));
  },
  async deleteTaskPushNotificationConfig(service, dialect, params, call) {
    const request = dialect.deleteTaskPushNotificationConfigRequest.decode(params);
    await service.engine.deletePushConfig(request, inTenant(call, request.tenant));
    return { kind: 'empty' };
  },
  async getExtendedAgentCard(service, dialect, params, call) {
    const request = dialect.getExtendedAgentCardRequest.decode(params ?? {});
    const { caller } = inTenant(call, request.tenant);
    // 3.1.11: it is for callers that proved who they are, wherever they can.
    service.auth.requireIdentity(caller);
    return json(dialect.agentCard.encode(await service.cards.extended(caller)));
  },
};

export function execute(
  service: Service,
  operation: Operation,
  dialect: Dialect,
  params: unknown,
  call: Call,
): Promise<OperationResult> {
  return handlers[operation](service, dialect, params, call);
}

function json(value: unknown): OperationResult {
  return { kind: 'json', text: JSON.stringify(value) };
}

/** 1.x is the model itself: what the store holds as text goes out as it is. */
function taskResult(task: Json<Task>, dialect: Dialect): OperationResult {
  return dialect.version === '1.0'
    ? { kind: 'json', text: task.text }
    : json(dialect.task.encode(task.value));
}

function sendResult(outcome: SendOutcome, dialect: Dialect): OperationResult {
  const contextId =
    'task' in outcome ? outcome.task.value.contextId : outcome.message.value.contextId;
  const text =
    dialect.version === '1.0'
      ? 'task' in outcome
        ? `{"task":${outcome.task.text}}`
        : `{"message":${outcome.message.text}}`
      : JSON.stringify(
          dialect.sendMessageResponse.encode(
            'task' in outcome ? { task: outcome.task.value } : { message: outcome.message.value },
          ),
        );
  return { kind: 'json', text, ...(contextId !== undefined && { contextId }) };
}

/**
 * Refuses a message to a skill for which the caller lacks a scope. A message names its skill in
 * `skillId` (or `skill`) of its metadata or of the request's.
 */
function authorise(service: Service, request: SendMessageRequest, call: Call): void {
  const { auth, skillScopes, cards } = service;
  if (Object.keys(skillScopes).length === 0) return;
  const { metadata } = request.message;
  const named = [
    metadata?.skillId,
    metadata?.skill,
    request.metadata?.skillId,
    request.metadata?.skill,
  ];
  const skillId = named.find((value) => typeof value === 'string');
  const scopes = neededScopes(skillId, cards.current.skills, skillScopes);
  if (scopes.length > 0) auth.requireScopes(call.caller, scopes);
}

/** A tenant named in the request scopes the caller; it can never lead out of the caller's own. */
export function inTenant(call: Call, tenant: string | undefined): Call {
  const { caller } = call;
  if (tenant === undefined || tenant === caller.tenant) return call;
  if (caller.tenant === '') {
    // Getters, which a copy would leave behind.
    const { signal, isLocal = false } = call;
    return {
      ...call,
      isLocal,
      ...(signal !== undefined && { signal }),
      caller: { ...caller, tenant },
    };
  }
  if (caller.method === 'anonymous') {
    throw invalidParams({ field: 'tenant', description: 'does not match the tenant of the path' });
  }
  throw new LegateError('PERMISSION_DENIED', 'the caller does not belong to this tenant');
}
