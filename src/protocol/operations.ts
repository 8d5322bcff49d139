/** The operations of the protocol, with the names of their JSON-RPC methods in both versions. */
export const operations = {
  sendMessage: { v1: 'SendMessage', v03: 'message/send', streams: false },
  sendStreamingMessage: { v1: 'SendStreamingMessage', v03: 'message/stream', streams: true },
  getTask: { v1: 'GetTask', v03: 'tasks/get', streams: false },
  /** 0.3 has no such method: the name is an extension of Legate for 0.3 callers. */
  listTasks: { v1: 'ListTasks', v03: 'tasks/list', streams: false },
  cancelTask: { v1: 'CancelTask', v03: 'tasks/cancel', streams: false },
  subscribeToTask: { v1: 'SubscribeToTask', v03: 'tasks/resubscribe', streams: true },
  createTaskPushNotificationConfig: {
    v1: 'CreateTaskPushNotificationConfig',
    v03: 'tasks/pushNotificationConfig/set',
    streams: false,
  },
  getTaskPushNotificationConfig: {
    v1: 'GetTaskPushNotificationConfig',
    v03: 'tasks/pushNotificationConfig/get',
    streams: false,
  },
  listTaskPushNotificationConfigs: {
    v1: 'ListTaskPushNotificationConfigs',
    v03: 'tasks/pushNotificationConfig/list',
    streams: false,
  },
  deleteTaskPushNotificationConfig: {
    v1: 'DeleteTaskPushNotificationConfig',
    v03: 'tasks/pushNotificationConfig/delete',
    streams: false,
  },
  getExtendedAgentCard: {
    v1: 'GetExtendedAgentCard',
    v03: 'agent/getAuthenticatedExtendedCard',
    streams: false,
  },
} as const;

/** The name of an operation, the same for all bindings. */
export type Operation = keyof typeof operations;

/** An operation, and the version that has a JSON-RPC method of that name. */
export interface NamedOperation {
  readonly operation: Operation;
  readonly version: '1.0' | '0.3';
}

const byMethod = new Map<string, NamedOperation>();
for (const [name, names] of Object.entries(operations)) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key of the table
  const operation = name as Operation;
  byMethod.set(names.v1, { operation, version: '1.0' });
  byMethod.set(names.v03, { operation, version: '0.3' });
}

/** Resolves a JSON-RPC method name; the name determines the version. */
export function operationOf(method: string): NamedOperation | undefined {
  return byMethod.get(method);
}
