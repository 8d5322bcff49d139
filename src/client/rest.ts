import {
  fromRestError,
  invalidParams,
  isJsonObject,
  type LegateError,
  parseJsonOr,
} from '../protocol/index.ts';
import type { HttpFormat } from './http-transport.ts';
import type { Exchanges } from './transport.ts';

/** HTTP+JSON, in either version: method and path name the operation. */
export function restFormat(base: URL, version: '1.0' | '0.3'): HttpFormat {
  /**
   * The specification's text has POST, its definition GET; the client keeps the method that the peer
   * accepts.
   */
  let subscribeMethod: 'POST' | 'GET' = 'POST';
  return {
    accept: 'application/a2a+json, application/json',
    expected: 'JSON',
    request(operation, request, encode) {
      const route = routes[operation](request, version);
      const method = operation === 'subscribeToTask' ? subscribeMethod : route.method;
      const url = new URL(base);
      const prefix = version === '0.3' ? versionPrefix(url) : tenantPrefix(request);
      url.pathname = url.pathname.replace(/\/+$/, '') + prefix + route.path;
      for (const [name, value] of Object.entries(route.query)) url.searchParams.set(name, value);
      if (method !== 'POST') return { method, url };
      return { method, url, body: JSON.stringify(route.hasBody ? encode() : {}) };
    },
    read(text, { status, event }) {
      const body = text.trim() === '' ? undefined : parseJsonOr(text, undefined);
      if (status >= 400) {
        return isJsonObject(body) ? { error: fromRestError(status, body) } : undefined;
      }
      const hasError = isJsonObject(body) && isJsonObject(body.error);
      if (event === 'error' || (event !== undefined && hasError)) {
        return { error: fromRestError(500, body) };
      }
      return body === undefined ? undefined : { result: body };
    },
    adapt(operation, failure, status) {
      const isAdaptable =
        operation === 'subscribeToTask' &&
        subscribeMethod === 'POST' &&
        isUnknownRoute(failure, status);
      if (isAdaptable) subscribeMethod = 'GET';
      return isAdaptable;
    },
  };
}

/** Whether a peer answers like a web server without such a route, not like an agent. */
function isUnknownRoute(failure: LegateError, status: number): boolean {
  if (status === 405 || status === 501) return true;
  return status === 404 && failure.code !== 'TASK_NOT_FOUND';
}

/** 0.3 paths start with /v1; some cards include it in the address. */
function versionPrefix(url: URL): string {
  return /\/v1\/*$/.test(url.pathname) ? '' : '/v1';
}

function tenantPrefix(request: { readonly tenant?: string }): string {
  return request.tenant === undefined ? '' : `/${segment(request.tenant)}`;
}

interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below the interface's address and its tenant or version. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Whether the request itself is the body; other POST requests send `{}`. */
  readonly hasBody: boolean;
}

type Routes = {
  readonly [O in keyof Exchanges]: (request: Exchanges[O][0], version: '1.0' | '0.3') => Route;
};

/** The routes of all operations (11.3); 0.3 has the same paths below `/v1`. */
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

/** Encodes an id as one path segment; `.` and `..` would change the path. */
function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') {
    throw invalidParams({ field: 'id', description: `${JSON.stringify(id)} is not an id` });
  }
  return encodeURIComponent(id);
}

function required(field: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw invalidParams({ field, description: 'is required over HTTP+JSON' });
}
