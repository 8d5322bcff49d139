import { type AgentInterface, type Dialect, LegateError } from '../protocol/index.ts';
import { afterFirst, isEventStream, readFrames, singleFrame } from './events.ts';
import { failureOf, readText } from './http-response.ts';
import { type Http, type HttpRequest, targetOf } from './http.ts';
import type { ChosenInterface } from './interface-choice.ts';
import { jsonRpcFormat } from './json-rpc.ts';
import {
  decodeAnswer,
  isFinalEvent,
  type OperationCodecs,
  operationCodecs,
  operationHeaders,
} from './operation-codecs.ts';
import { restFormat } from './rest.ts';
import type {
  CallOperation,
  Exchanges,
  Frame,
  StreamOperation,
  Transport,
  TransportCall,
  TransportStream,
} from './transport.ts';

/** How a binding over HTTP encodes requests and decodes responses. */
export interface HttpFormat {
  /** The accepted media types of a response. */
  readonly accept: string;
  /** The expected kind of response, for errors. */
  readonly expected: string;
  /** `encode` returns the request as JSON. */
  request<O extends keyof Exchanges>(
    operation: O,
    request: Exchanges[O][0],
    encode: () => unknown,
  ): Pick<HttpRequest, 'method' | 'url' | 'body'>;
  /** The result or the error in a body or an event; undefined if it has neither. */
  read(
    text: string,
    from: { readonly status: number; readonly event?: string },
  ): { readonly result: unknown } | { readonly error: LegateError } | undefined;
  /** Switches to another form of the request after this failure; returns whether there is one. */
  adapt?(operation: keyof Exchanges, failure: LegateError, status: number): boolean;
}

/** JSON-RPC or HTTP+JSON, in either version. */
export class HttpTransport implements Transport {
  readonly interface: AgentInterface;
  readonly #version: '1.0' | '0.3';
  readonly #format: HttpFormat;
  readonly #http: Http;
  readonly #codecs: OperationCodecs;
  readonly #extensions: readonly string[];

  constructor(
    chosen: ChosenInterface,
    dialect: Dialect,
    http: Http,
    extensions: readonly string[],
  ) {
    const { version, url, binding } = chosen;
    this.interface = chosen.interface;
    this.#version = version;
    this.#format = binding === 'JSONRPC' ? jsonRpcFormat(url, version) : restFormat(url, version);
    this.#http = http;
    this.#codecs = operationCodecs(dialect);
    this.#extensions = extensions;
  }

  async call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportCall,
  ): Promise<Exchanges[O][1]> {
    const sent = this.#request(operation, request, call, this.#format.accept);
    const result = await this.#resultOf(await this.#http.send(sent), sent);
    return decodeAnswer(this.#codecs[operation].decode, result, targetOf(sent));
  }

  async stream<O extends StreamOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
  ): Promise<AsyncIterable<Frame>> {
    const accept = `text/event-stream, ${this.#format.accept}`;
    let sent = this.#request(operation, request, call, accept);
    let response = await this.#http.send(sent);
    if (!response.ok) {
      const failure = await this.#failureOf(response, sent);
      if (this.#format.adapt?.(operation, failure, response.status) !== true) throw failure;
      sent = this.#request(operation, request, call, accept);
      response = await this.#http.send(sent);
    }
    const { decode } = this.#codecs[operation];
    const target = targetOf(sent);
    // A peer can answer without a stream.
    if (!response.ok || !isEventStream(response)) {
      return singleFrame(decodeAnswer(decode, await this.#resultOf(response, sent), target));
    }
    const frames = readFrames(response, sent, this.#http, call, (data, event) => {
      const result = this.#read(data, sent, { status: 200, event });
      const isFinal = isFinalEvent(this.#version, result);
      return { response: decodeAnswer(decode, result, target), isFinal };
    });
    return afterFirst(frames);
  }

  #request<O extends keyof Exchanges>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
    accept: string,
  ): HttpRequest {
    const encode = () => this.#codecs[operation].encode(request);
    const written = this.#format.request(operation, request, encode);
    return {
      ...written,
      operation,
      headers: {
        Accept: accept,
        ...(written.body !== undefined && { 'Content-Type': 'application/json' }),
        ...operationHeaders(this.#version, this.#extensions, call),
      },
      signal: call.signal,
      sendUntil: call.sendUntil,
    };
  }

  async #resultOf(response: Response, sent: HttpRequest): Promise<unknown> {
    if (!response.ok) throw await this.#failureOf(response, sent);
    return this.#read(await readText(response, sent, this.#http), sent, response);
  }

  #read(text: string, sent: HttpRequest, from: Parameters<HttpFormat['read']>[1]): unknown {
    const read = this.#format.read(text, from);
    if (read !== undefined && 'error' in read) throw this.#http.credentials.redact(read.error);
    // A deletion has no result. Its body is ignored.
    if (read !== undefined || sent.method === 'DELETE') return read?.result;
    throw new LegateError(
      'PEER_INVALID',
      `${targetOf(sent)} answered ${from.status}, but not with ${this.#format.expected}: check the address in the agent card`,
    );
  }

  async #failureOf(response: Response, sent: HttpRequest): Promise<LegateError> {
    const { status } = response;
    const failure = await failureOf(response, sent, this.#http, (text) => {
      const read = this.#format.read(text, { status });
      return read !== undefined && 'error' in read ? read.error : undefined;
    });
    return this.#http.credentials.redact(failure);
  }
}
