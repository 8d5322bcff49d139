import {
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  invalidParams,
  LegateError,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  taskNotFound,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import type { PushRegistration } from '../store/index.ts';
import { cleanTracestate } from '../telemetry/index.ts';
import type { Call } from './call.ts';
import type { EngineSettings, PushHooks } from './options.ts';

/** Most configurations of one task. */
const maxConfigs = 100;

/** A W3C `traceparent`. Other values from callers are ignored. */
const tracePattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The push configurations of tasks. Their secrets are stored and never returned. */
export class PushConfigs {
  readonly #settings: EngineSettings;

  constructor(settings: EngineSettings) {
    this.#settings = settings;
  }

  /** Validates a configuration and gives it an id, ready to be stored. */
  async registration(config: TaskPushNotificationConfig, call: Call): Promise<PushRegistration> {
    await this.#hooks().validate(config, call);
    const id = config.id ?? this.#settings.scheduler.uuid();
    // Stored with the configuration, but not part of it: deliveries belong to the trace of this request.
    return { config: { ...config, id, ...traceOf(call) }, wireVersion: call.version };
  }

  async create(
    config: TaskPushNotificationConfig,
    call: Call,
    owner: string,
  ): Promise<TaskPushNotificationConfig> {
    const hooks = this.#hooks();
    const { taskId } = config;
    if (taskId === undefined) throw invalidParams({ field: 'taskId', description: 'is required' });
    await this.#authorise(taskId, owner);
    const registration = await this.registration(config, call);
    await this.checkLimit(taskId, registration);
    await this.#settings.store.push.put(taskId, registration);
    return hooks.redact(registration.config);
  }

  /** Refuses a further configuration of a task that has the most it can have. */
  async checkLimit(taskId: string, { config }: PushRegistration): Promise<void> {
    const existing = await this.#settings.store.push.list(taskId);
    const isNew = !existing.some(({ config: { id } }) => id === config.id);
    if (!isNew || existing.length < maxConfigs) return;
    throw invalidParams({
      field: 'taskId',
      description: `has ${maxConfigs} push configurations already; delete one first`,
    });
  }

  async get(
    request: GetTaskPushNotificationConfigRequest,
    owner: string,
  ): Promise<TaskPushNotificationConfig> {
    const hooks = this.#hooks();
    const { taskId, id } = request;
    await this.#authorise(taskId, owner);
    const { push } = this.#settings.store;
    const found = id === undefined ? (await push.list(taskId))[0] : await push.get(taskId, id);
    if (found === undefined) {
      throw new LegateError(
        'TASK_NOT_FOUND',
        `task ${taskId} has no push configuration ${id ?? ''}`,
        {
          metadata: { taskId },
        },
      );
    }
    return hooks.redact({ ...found.config, taskId });
  }

  async list(
    request: ListTaskPushNotificationConfigsRequest,
    owner: string,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    const hooks = this.#hooks();
    await this.#authorise(request.taskId, owner);
    const all = await this.#settings.store.push.list(request.taskId);
    // Bounded by `maxConfigs`: one page holds them all.
    const configs = all.map(({ config }) => hooks.redact({ ...config, taskId: request.taskId }));
    return { configs, nextPageToken: '' };
  }

  async delete(request: DeleteTaskPushNotificationConfigRequest, owner: string): Promise<void> {
    this.#hooks();
    await this.#authorise(request.taskId, owner);
    await this.#settings.store.push.delete(request.taskId, request.id);
  }

  async #authorise(taskId: string, owner: string): Promise<void> {
    const record = await this.#settings.store.load(taskId, owner);
    if (record === undefined) throw taskNotFound(taskId);
  }

  #hooks(): PushHooks {
    const { push } = this.#settings;
    if (push !== undefined) return push;
    throw new LegateError(
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      'push notifications are not supported by this agent',
    );
  }
}

function traceOf({ traceparent = '', tracestate = '' }: Call): Readonly<Record<string, string>> {
  if (!tracePattern.test(traceparent)) return {};
  const state = tracestate === '' ? undefined : cleanTracestate(tracestate);
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}
