import { neededScopes } from '../auth/index.ts';
import {
  type Dialect,
  invalidParams,
  isJsonObject,
  type Json,
  LegateError,
  type Operation,
  type SendMessageRequest,
  type Task,
} from '../protocol/index.ts';
import type { Call, EventStream, SendOutcome } from '../tasks/index.ts';
import type { Service } from './service.ts';

/** The result of an operation: JSON text in its dialect, a stream of events, or nothing. */
export type OperationResult =
  | { readonly kind: 'json'; readonly text: string; readonly contextId?: string }
  | { readonly kind: 'stream'; readonly stream: EventStream }
  | { readonly kind: 'empty' };

/** One operation of A2A, for all transports and dialects. */
interface Steps<Request, Outcome> {
  readonly decode: (dialect: Dialect, params: unknown) => Request;
  readonly run: (service: Service, request: Request, call: Call) => Promise<Outcome>;
  readonly encode: (dialect: Dialect, outcome: Outcome) => OperationResult;
}

interface ServiceOperation<Request, Outcome> {
  /** Checks the parameters; throws `INVALID_PARAMS`. */
  decode(dialect: Dialect, params: unknown): Request;
  /** Decodes the parameters of a dialect, runs the operation and encodes its result. */
  execute(
    service: Service,
    dialect: Dialect,
    params: unknown,
    call: Call,
  ): Promise<OperationResult>;
  /** For transports that decode and encode by themselves, as the bus does. */
  perform(service: Service, request: Request, call: Call): Promise<Outcome>;
}

function operation<Request extends { readonly tenant?: string }, Outcome>({
  decode,
  run,
  encode,
}: Steps<Request, Outcome>): ServiceOperation<Request, Outcome> {
  return {
    decode,
    async perform(service, request, call) {
      return run(service, request, inTenant(call, request.tenant));
    },
    async execute(service, dialect, params, call) {
      const request = decode(dialect, params);
      return encode(dialect, await run(service, request, inTenant(call, request.tenant)));
    },
  };
}

/** The operations of all transports. A transport determines the operation, its parameters and the caller. */
export const serviceOperations = {
  sendMessage: operation({
    decode: (dialect, params) => dialect.sendMessageRequest.decode(params),
    run: (service, request, call) => service.engine.send(authorised(service, request, call), call),
    encode: encodeOutcome,
  }),
  sendStreamingMessage: operation({
    decode: (dialect, params) => dialect.sendMessageRequest.decode(params),
    run: (service, request, call) =>
      service.engine.stream(authorised(service, request, call), call),
    encode: encodeStream,
  }),
  getTask: operation({
    decode: (dialect, params) => dialect.getTaskRequest.decode(params),
    run: ({ engine }, request, call) => engine.getTask(request, call),
    encode: encodeTask,
  }),
  listTasks: operation({
    decode: (dialect, params) => dialect.listTasksRequest.decode(params),
    run: ({ engine }, request, call) => engine.listTasks(request, call),
    encode: (dialect, response) => json(dialect.listTasksResponse.encode(response)),
  }),
  cancelTask: operation({
    decode: (dialect, params) => dialect.cancelTaskRequest.decode(params),
    run: ({ engine }, request, call) => engine.cancelTask(request, call),
    encode: encodeTask,
  }),
  subscribeToTask: operation({
    decode: (dialect, params) => dialect.subscribeToTaskRequest.decode(params),
    run: ({ engine }, request, call) => engine.subscribe(request, call),
    encode: encodeStream,
  }),
  createTaskPushNotificationConfig: operation({
    decode(dialect, params) {
      const decoded = dialect.taskPushNotificationConfig.decode(params);
      // In REST the path names the task, and the body can be the configuration alone.
      const named = isJsonObject(params) ? params.taskId : undefined;
      const taskId = decoded.taskId ?? (typeof named === 'string' ? named : undefined);
      return taskId === undefined ? decoded : { ...decoded, taskId };
    },
    run: ({ engine }, config, call) => engine.createPushConfig(config, call),
    encode: (dialect, created) => json(dialect.taskPushNotificationConfig.encode(created)),
  }),
  getTaskPushNotificationConfig: operation({
    decode: (dialect, params) => dialect.getTaskPushNotificationConfigRequest.decode(params),
    run: ({ engine }, request, call) => engine.getPushConfig(request, call),
    encode: (dialect, config) => json(dialect.taskPushNotificationConfig.encode(config)),
  }),
  listTaskPushNotificationConfigs: operation({
    decode: (dialect, params) => dialect.listTaskPushNotificationConfigsRequest.decode(params),
    run: ({ engine }, request, call) => engine.listPushConfigs(request, call),
    encode: (dialect, response) =>
      json(dialect.listTaskPushNotificationConfigsResponse.encode(response)),
  }),
  deleteTaskPushNotificationConfig: operation({
    decode: (dialect, params) => dialect.deleteTaskPushNotificationConfigRequest.decode(params),
    run: ({ engine }, request, call) => engine.deletePushConfig(request, call),
    encode: () => ({ kind: 'empty' }),
  }),
  getExtendedAgentCard: operation({
    decode: (dialect, params) => dialect.getExtendedAgentCardRequest.decode(params ?? {}),
    async run({ auth, cards }, _request, { caller }) {
      if (cards.current.capabilities.extendedAgentCard !== true) {
        throw new LegateError('UNSUPPORTED_OPERATION', 'this agent has no extended card');
      }
      // 13.3: the extended card is for authenticated callers.
      auth.requireIdentity(caller);
      return cards.extended(caller);
    },
    encode: (dialect, card) => json(dialect.agentCard.encode(card)),
  }),
};

export function execute(
  service: Service,
  name: Operation,
  dialect: Dialect,
  params: unknown,
  call: Call,
): Promise<OperationResult> {
  return serviceOperations[name].execute(service, dialect, params, call);
}

function json(value: unknown): OperationResult {
  return { kind: 'json', text: JSON.stringify(value) };
}

function encodeStream(_dialect: Dialect, stream: EventStream): OperationResult {
  return { kind: 'stream', stream };
}

/** 1.x is the internal model: the stored text is sent unchanged. */
function encodeTask(dialect: Dialect, task: Json<Task>): OperationResult {
  return dialect.version === '1.0'
    ? { kind: 'json', text: task.text }
    : json(dialect.task.encode(task.value));
}

function encodeOutcome(dialect: Dialect, outcome: SendOutcome): OperationResult {
  const isTask = 'task' in outcome;
  const { contextId } = isTask ? outcome.task.value : outcome.message.value;
  const value = isTask ? { task: outcome.task.value } : { message: outcome.message.value };
  const text =
    dialect.version === '1.0'
      ? outcomeText(outcome)
      : JSON.stringify(dialect.sendMessageResponse.encode(value));
  return { kind: 'json', text, ...(contextId !== undefined && { contextId }) };
}

/** The outcome of a message in the 1.x format. */
export function outcomeText(outcome: SendOutcome): string {
  return 'task' in outcome
    ? `{"task":${outcome.task.text}}`
    : `{"message":${outcome.message.text}}`;
}

/**
 * Returns the request, or throws if the caller lacks a scope of its skill. A message names its skill in
 * `skillId` (or `skill`) of its metadata or of the request's.
 */
function authorised(service: Service, request: SendMessageRequest, call: Call): SendMessageRequest {
  const { auth, skillScopes, cards } = service;
  if (Object.keys(skillScopes).length === 0) return request;
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
  return request;
}

/** Applies the tenant that a request names. A caller with a tenant can't select another one. */
export function inTenant(call: Call, tenant: string | undefined): Call {
  const { caller } = call;
  if (tenant === undefined || tenant === caller.tenant) return call;
  if (caller.tenant === '') return { ...call, caller: { ...caller, tenant } };
  if (caller.method === 'anonymous') {
    throw invalidParams({ field: 'tenant', description: 'does not match the tenant of the path' });
  }
  throw new LegateError('PERMISSION_DENIED', 'the caller does not belong to this tenant');
}
