import {
  type AgentInterface,
  type Dialect,
  fromRestError,
  LegateError,
} from '../protocol/index.ts';
import { isObject, readJson, readText } from './body.ts';
import { afterFirst, isEventStream, readFrames, singleFrame } from './events.ts';
import { failureOf } from './failure.ts';
import { type Http, type HttpRequest, targetOf } from './http.ts';
import type { ChosenInterface } from './interface-choice.ts';
import { operationHeaders } from './operation-headers.ts';
import { routeOf, segment } from './rest-routes.ts';
import type {
  CallOperation,
  Exchanges,
  Frame,
  StreamOperation,
  Transport,
  TransportCall,
  TransportStream,
} from './transport.ts';
import { decodeAnswer, type Wires, wiresOf } from './wires.ts';

const json = 'application/a2a+json, application/json';

/** HTTP+JSON, in either version: method and path name the operation. */
export class RestTransport implements Transport {
  readonly interface: AgentInterface;
  readonly #base: URL;
  readonly #http: Http;
  readonly #dialect: Dialect;
  readonly #wires: Wires;
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
    this.#wires = wiresOf(dialect);
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
    return decodeAnswer(this.#wires[operation].decode, body, targetOf(sent));
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
    const { decode } = this.#wires[operation];
    const target = targetOf(sent);
    if (!response.ok || !isEventStream(response)) {
      const body = await this.#readBody(response, sent);
      return singleFrame(decodeAnswer(decode, body, target));
    }
    const frames = readFrames(response, sent, this.#http, call, (data, event) => {
      const body = readJson(data);
      if (event === 'error' || (isObject(body) && isObject(body.error))) {
        throw this.#http.credentials.redact(fromRestError(500, body));
      }
      return { response: decodeAnswer(decode, body, target), isFinal: this.#isFinal(body) };
    });
    return afterFirst(frames);
  }

  #isFinal(body: unknown): boolean {
    if (this.#dialect.version !== '0.3' || !isObject(body)) return false;
    const update = body.statusUpdate ?? body.status_update ?? body;
    return isObject(update) && update.final === true;
  }

  #request<O extends keyof Exchanges>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
    accept: string,
  ): HttpRequest {
    const route = routeOf(operation, request, this.#dialect.version);
    const method = operation === 'subscribeToTask' ? this.#subscribeMethod : route.method;
    const body = route.hasBody ? this.#wires[operation].encode(request) : {};
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
      return isObject(body) ? fromRestError(response.status, body) : undefined;
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
