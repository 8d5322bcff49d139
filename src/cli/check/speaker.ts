import type { BindingName } from '../../client/index.ts';
import {
  type Dialect,
  type ErrorCode,
  fromJsonRpcError,
  fromRestError,
  isJsonObject,
  LegateError,
  type Operation,
  operations,
  type SseEvent,
  v03,
  v03Rest,
  v1,
} from '../../protocol/index.ts';
import { skip } from './finding.ts';
import type { Answer, Probe, ProbeRequest } from './probe.ts';

/** The meaning of an answer: a result, an error, or neither. */
export interface Spoken {
  readonly answer: Answer;
  readonly result?: unknown;
  readonly error?: LegateError;
  /** The JSON-RPC code or the HTTP status, as received; none over gRPC. */
  readonly code?: number;
}

export interface SpeakOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly isAnonymous?: boolean;
  readonly isEnough?: (events: readonly SseEvent[]) => boolean;
}

/** Errors by which agents decline requests independent of their content. */
const declines: { readonly [code in ErrorCode]?: string } = {
  UNAUTHENTICATED: 'the agent asks for credentials: see legate check --help',
  PERMISSION_DENIED: 'the agent asks for other credentials',
  RATE_LIMITED: 'the agent limits requests',
  EXTENSION_SUPPORT_REQUIRED: 'the agent requires an extension',
  CONTENT_TYPE_NOT_SUPPORTED: 'the agent does not accept texts',
};

/** Skips the check if the agent declined the request: the answer says nothing about the checked behaviour. */
export function unlessDeclined(error: LegateError | undefined): void {
  const why = error && declines[error.code];
  if (why !== undefined) skip(why);
}

/** Calls one interface of an agent over one binding in one version. */
export interface Speaker {
  /** `JSONRPC 1.0` */
  readonly name: string;
  readonly version: '1.0' | '0.3';
  readonly binding: BindingName;
  /** Its scheme shows whether the connection is encrypted. */
  readonly url: string;
  readonly dialect: Dialect;
  /** Calls an operation with these parameters, unchecked. */
  speak(
    operation: Operation,
    parameters: Readonly<Record<string, unknown>>,
    options?: SpeakOptions,
  ): Promise<Spoken>;
  /** The content of one event of a stream. */
  eventOf(data: string): unknown;
}

/** For checks that exist only for HTTP. */
export function overHttp(speaker: Speaker): HttpSpeaker {
  return speaker instanceof HttpSpeaker ? speaker : skip(`not of ${speaker.binding}`);
}

/** JSON-RPC or HTTP+JSON. */
export class HttpSpeaker implements Speaker {
  readonly name: string;
  readonly version: '1.0' | '0.3';
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  readonly url: string;
  readonly dialect: Dialect;
  readonly probe: Probe;
  readonly #tenant: string | undefined;

  constructor(
    probe: Probe,
    options: {
      readonly binding: 'JSONRPC' | 'HTTP+JSON';
      readonly version: '1.0' | '0.3';
      readonly url: string;
      readonly tenant?: string;
    },
  ) {
    this.probe = probe;
    this.binding = options.binding;
    this.version = options.version;
    this.url = options.url;
    this.name = `${options.binding} ${options.version}`;
    this.#tenant = options.tenant;
    if (options.version === '1.0') this.dialect = v1;
    else this.dialect = options.binding === 'JSONRPC' ? v03 : v03Rest;
  }

  async speak(
    operation: Operation,
    parameters: Readonly<Record<string, unknown>>,
    options: SpeakOptions = {},
  ): Promise<Spoken> {
    const tenant = this.#tenant;
    const given = tenant === undefined ? parameters : { tenant, ...parameters };
    const request =
      this.binding === 'JSONRPC'
        ? this.envelope(operations[operation][this.version === '1.0' ? 'v1' : 'v03'], given)
        : this.#route(operation, given);
    const headers = { ...request.headers, ...options.headers };
    const answer = await this.probe.send({ ...request, ...options, headers });
    if (answer.status !== 405 || operation !== 'subscribeToTask') return this.read(answer);
    // The text of the specification has POST, its proto file GET.
    const { url } = request;
    return this.read(await this.probe.send({ ...options, url, headers }));
  }

  /** A JSON-RPC request for any method. */
  envelope(method: string, params: unknown): ProbeRequest {
    return this.post(JSON.stringify({ jsonrpc: '2.0', id: 'check-1', method, params }));
  }

  /** Posts these bytes to the URL of the interface, or to a path below it. */
  post(body: string, path = ''): ProbeRequest {
    return { method: 'POST', url: this.url + path, headers: this.headers, body };
  }

  get headers(): Readonly<Record<string, string>> {
    return {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'A2A-Version': this.version,
    };
  }

  read(answer: Answer): Spoken {
    const { json, status } = answer;
    if (this.binding === 'HTTP+JSON') {
      if (status < 300) return { answer, result: json, code: status };
      return { answer, error: fromRestError(status, json), code: status };
    }
    if (!isJsonObject(json)) return { answer };
    if (isJsonObject(json['error'])) {
      const { code } = json['error'];
      const error = fromJsonRpcError(json['error']);
      return { answer, error, ...(typeof code === 'number' && { code }) };
    }
    return 'result' in json ? { answer, result: json['result'] } : { answer };
  }

  eventOf(data: string): unknown {
    const json: unknown = JSON.parse(data);
    const error = isJsonObject(json) && isJsonObject(json['error']) ? json['error'] : undefined;
    if (this.binding === 'HTTP+JSON') {
      if (error !== undefined) throw fromRestError(Number(error['code']), json);
      return json;
    }
    if (error !== undefined) throw fromJsonRpcError(error);
    return isJsonObject(json) ? json['result'] : undefined;
  }

  #route(operation: Operation, parameters: Readonly<Record<string, unknown>>): ProbeRequest {
    const base = this.version === '1.0' ? '' : '/v1';
    const tenant = this.#tenant === undefined ? '' : `/${encodeURIComponent(this.#tenant)}`;
    const place = `${tenant}${base}`;
    const id = encodeURIComponent(String(parameters['id']));
    const get = (path: string): ProbeRequest => ({
      url: `${this.url}${place}${path}`,
      headers: { Accept: 'application/json', 'A2A-Version': this.version },
    });
    const post = (path: string, body: unknown): ProbeRequest =>
      this.post(JSON.stringify(body), `${place}${path}`);
    switch (operation) {
      case 'sendMessage':
        return post('/message:send', parameters);
      case 'sendStreamingMessage':
        return post('/message:stream', parameters);
      case 'getTask':
        return get(`/tasks/${id}`);
      case 'listTasks':
        return get('/tasks?pageSize=1');
      case 'cancelTask':
        return post(`/tasks/${id}:cancel`, {});
      case 'subscribeToTask':
        return post(`/tasks/${id}:subscribe`, {});
      default:
        throw new LegateError('INTERNAL', `no route for ${operation}`);
    }
  }
}
