import { invalidParams } from '../protocol/index.ts';
import type { Exchanges } from './transport.ts';

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the interface's address, its tenant or version. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Whether the request itself is the body; a POST without one carries `{}`. */
  readonly hasBody: boolean;
}

type Routes = {
  readonly [O in keyof Exchanges]: (request: Exchanges[O][0], version: '1.0' | '0.3') => Route;
};

const routes: Routes = {
  sendMessage: () => post('/message:send', true),
  sendStreamingMessage: () => post('/message:stream', true),
  getTask: ({ id, historyLength }) => get(`/tasks/${segment(id)}`, { historyLength }),
  listTasks: (request) => get('/tasks', { ...request, tenant: undefined }),
  cancelTask: ({ id, metadata }) => post(`/tasks/${segment(id)}:cancel`, metadata !== undefined),
  subscribeToTask: ({ id }) => post(`/tasks/${segment(id)}:subscribe`, false),
  createTaskPushNotificationConfig: ({ taskId }) => post(configs(taskId), true),
  getTaskPushNotificationConfig: ({ taskId, id }) =>
    get(`${configs(taskId)}/${segment(required('id', id))}`),
  listTaskPushNotificationConfigs: ({ taskId, pageSize, pageToken }) =>
    get(configs(taskId), { pageSize, pageToken }),
  deleteTaskPushNotificationConfig: ({ taskId, id }) => ({
    ...get(`${configs(taskId)}/${segment(id)}`),
    method: 'DELETE',
  }),
  getExtendedAgentCard: (_, version) => get(version === '1.0' ? '/extendedAgentCard' : '/card'),
};

/** Where an operation lives (11.3); 0.3 has the same paths below `/v1`. */
export function routeOf<O extends keyof Exchanges>(
  operation: O,
  request: Exchanges[O][0],
  version: '1.0' | '0.3',
): Route {
  return routes[operation](request, version);
}

function post(path: string, hasBody: boolean): Route {
  return { method: 'POST', path, query: {}, hasBody };
}

type Parameters = { readonly [name: string]: string | number | boolean | undefined };

function get(path: string, parameters: Parameters = {}): Route {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query[name] = String(value);
  }
  return { method: 'GET', path, query, hasBody: false };
}

function configs(taskId: string | undefined): string {
  return `/tasks/${segment(required('taskId', taskId))}/pushNotificationConfigs`;
}

/** An id as one segment of a path; dots alone would walk up the tree. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') {
    throw invalidParams({ field: 'id', description: `${JSON.stringify(id)} is not an id` });
  }
  return encodeURIComponent(id);
}

function required(field: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw invalidParams({ field, description: 'is required over HTTP+JSON' });
}
