import {
  type AgentInterface,
  type Dialect,
  fromRestError,
  invalidParams,
  isJsonObject,
  LegateError,
} from '../protocol/index.ts';
import { afterFirst, isEventStream, readFrames, singleFrame } from './events.ts';
import { failureOf, readJson, readText } from './http-response.ts';
import { type Http, type HttpRequest, targetOf } from './http.ts';
import type { ChosenInterface } from './interface-choice.ts';
import {
  decodeAnswer,
  operationHeaders,
  type OperationCodecs,
  operationCodecs,
} from './operation-codecs.ts';
import type {
  CallOperation,
  Exchanges,
  Frame,
  StreamOperation,
  Transport,
  TransportCall,
  TransportStream,
} from './transport.ts';

const json = 'application/a2a+json, application/json';

/** HTTP+JSON, in either version: method and path name the operation. */
export class RestTransport implements Transport {
  readonly interface: AgentInterface;
  readonly #base: URL;
  readonly #http: Http;
  readonly #dialect: Dialect;
  readonly #codecs: OperationCodecs;
  readonly #extensions: readonly string[];
  /** The specification's text says POST, its definition GET; what a peer takes is remembered. */
  #subscribeMethod: 'POST' | 'GET' = 'POST';

  constructor(
    chosen: ChosenInterface,
    dialect: Dialect,
    http: Http,
    extensions: readonly string[],
  ) {
    this.interface = chosen.interface;
    this.#base = chosen.url;
    this.#http = http;
    this.#dialect = dialect;
    this.#codecs = operationCodecs(dialect);
    this.#extensions = extensions;
  }

  async call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportCall,
  ): Promise<Exchanges[O][1]> {
    const sent = this.#request(operation, request, call, json);
    const response = await this.#http.send(sent);
    const body = await this.#readBody(response, sent);
    return decodeAnswer(this.#codecs[operation].decode, body, targetOf(sent));
  }

  async stream<O extends StreamOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
  ): Promise<AsyncIterable<Frame>> {
    const accept = `text/event-stream, ${json}`;
    let sent = this.#request(operation, request, call, accept);
    let response = await this.#http.send(sent);
    if (operation === 'subscribeToTask' && sent.method === 'POST' && !response.ok) {
      const failure = await this.#failureOf(response, sent);
      if (!isUnknownRoute(failure, response.status)) throw failure;
      this.#subscribeMethod = 'GET';
      sent = this.#request(operation, request, call, accept);
      response = await this.#http.send(sent);
    }
    const { decode } = this.#codecs[operation];
    const target = targetOf(sent);
    if (!response.ok || !isEventStream(response)) {
      const body = await this.#readBody(response, sent);
      return singleFrame(decodeAnswer(decode, body, target));
    }
    const frames = readFrames(response, sent, this.#http, call, (data, event) => {
      const body = readJson(data);
      if (event === 'error' || (isJsonObject(body) && isJsonObject(body.error))) {
        throw this.#http.credentials.redact(fromRestError(500, body));
      }
      return { response: decodeAnswer(decode, body, target), isFinal: this.#isFinal(body) };
    });
    return afterFirst(frames);
  }

  #isFinal(body: unknown): boolean {
    if (this.#dialect.version !== '0.3' || !isJsonObject(body)) return false;
    const update = body.statusUpdate ?? body.status_update ?? body;
    return isJsonObject(update) && update.final === true;
  }

  #request<O extends keyof Exchanges>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
    accept: string,
  ): HttpRequest {
    const route = routeOf(operation, request, this.#dialect.version);
    const method = operation === 'subscribeToTask' ? this.#subscribeMethod : route.method;
    const body = route.hasBody ? this.#codecs[operation].encode(request) : {};
    const url = new URL(this.#base);
    const prefix = this.#dialect.version === '0.3' ? versionPrefix(url) : tenantPrefix(request);
    url.pathname = url.pathname.replace(/\/+$/, '') + prefix + route.path;
    for (const [name, value] of Object.entries(route.query)) url.searchParams.set(name, value);
    return {
      method,
      url,
      operation,
      headers: {
        Accept: accept,
        ...(method === 'POST' && { 'Content-Type': 'application/json' }),
        ...operationHeaders(this.#dialect.version, this.#extensions, call),
      },
      ...(method === 'POST' && { body: JSON.stringify(body) }),
      signal: call.signal,
      sendUntil: call.sendUntil,
    };
  }

  /** Any 2xx is a success, and an empty body is no body. */
  async #readBody(response: Response, sent: HttpRequest): Promise<unknown> {
    if (!response.ok) throw await this.#failureOf(response, sent);
    const text = await readText(response, sent, this.#http);
    const body = text.trim() === '' ? undefined : readJson(text);
    // Deleting answers nothing, and whatever nothing looks like is fine.
    if (body === undefined && sent.method !== 'DELETE') {
      throw new LegateError(
        'PEER_INVALID',
        `${targetOf(sent)} answered ${response.status} with what is not JSON: check the address in the agent card`,
      );
    }
    return body;
  }

  async #failureOf(response: Response, sent: HttpRequest): Promise<LegateError> {
    const failure = await failureOf(response, sent, this.#http, (text) => {
      const body = readJson(text);
      return isJsonObject(body) ? fromRestError(response.status, body) : undefined;
    });
    return this.#http.credentials.redact(failure);
  }
}

/** Whether a peer answers like a web server that has no such route, rather than like an agent. */
function isUnknownRoute(failure: LegateError, status: number): boolean {
  if (status === 405 || status === 501) return true;
  return status === 404 && failure.code !== 'TASK_NOT_FOUND';
}

/** 0.3 paths begin with /v1; some cards give it as part of the address. */
function versionPrefix(url: URL): string {
  return /\/v1\/*$/.test(url.pathname) ? '' : '/v1';
}

function tenantPrefix(request: { readonly tenant?: string }): string {
  return request.tenant === undefined ? '' : `/${segment(request.tenant)}`;
}

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
