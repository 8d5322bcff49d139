import {
  type AgentInterface,
  type Dialect,
  fromJsonRpcError,
  isJsonObject,
  LegateError,
  operations,
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

/** JSON-RPC 2.0 over HTTP, in either version: one address, the method names the operation. */
export class JsonRpcTransport implements Transport {
  readonly interface: AgentInterface;
  readonly #url: URL;
  readonly #http: Http;
  readonly #dialect: Dialect;
  readonly #codecs: OperationCodecs;
  readonly #extensions: readonly string[];

  constructor(
    chosen: ChosenInterface,
    dialect: Dialect,
    http: Http,
    extensions: readonly string[],
  ) {
    this.interface = chosen.interface;
    this.#url = chosen.url;
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
    const sent = this.#request(operation, request, call, 'application/json');
    const response = await this.#http.send(sent);
    const result = await this.#readResult(response, sent);
    return decodeAnswer(this.#codecs[operation].decode, result, targetOf(sent));
  }

  async stream<O extends StreamOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
  ): Promise<AsyncIterable<Frame>> {
    const sent = this.#request(operation, request, call, 'text/event-stream, application/json');
    const response = await this.#http.send(sent);
    const target = targetOf(sent);
    const { decode } = this.#codecs[operation];
    if (!response.ok || !isEventStream(response)) {
      // An error known before the first event comes as plain JSON.
      const result = await this.#readResult(response, sent);
      return singleFrame(decodeAnswer(decode, result, target));
    }
    const frames = readFrames(response, sent, this.#http, call, (data) => {
      const envelope = this.#parseEnvelope(data);
      if (envelope === undefined) throw notJsonRpc(sent);
      if ('error' in envelope) throw this.#http.credentials.redact(envelope.error);
      const response = decodeAnswer(decode, envelope.result, target);
      const isFinal =
        this.#dialect.version === '0.3' &&
        isJsonObject(envelope.result) &&
        envelope.result.final === true;
      return { response, isFinal };
    });
    return afterFirst(frames);
  }

  #request<O extends keyof Exchanges>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
    accept: string,
  ): HttpRequest {
    const { version } = this.#dialect;
    const params = this.#codecs[operation].encode(request);
    return {
      method: 'POST',
      url: this.#url,
      operation,
      headers: {
        'Content-Type': 'application/json',
        Accept: accept,
        ...operationHeaders(version, this.#extensions, call),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: crypto.randomUUID(),
        method: operations[operation][version === '1.0' ? 'v1' : 'v03'],
        params,
      }),
      signal: call.signal,
      sendUntil: call.sendUntil,
    };
  }

  async #readResult(response: Response, sent: HttpRequest): Promise<unknown> {
    if (!response.ok) {
      const failure = await failureOf(response, sent, this.#http, (body) => {
        const envelope = this.#parseEnvelope(body);
        return envelope !== undefined && 'error' in envelope ? envelope.error : undefined;
      });
      throw this.#http.credentials.redact(failure);
    }
    const envelope = this.#parseEnvelope(await readText(response, sent, this.#http));
    if (envelope === undefined) throw notJsonRpc(sent);
    if ('error' in envelope) throw this.#http.credentials.redact(envelope.error);
    return envelope.result;
  }

  /**
   * One HTTP exchange carries one answer, so its id is not compared: peers that spell it otherwise
   * are understood all the same.
   */
  #parseEnvelope(text: string): { result: unknown } | { error: LegateError } | undefined {
    const json = readJson(text);
    if (!isJsonObject(json)) return undefined;
    if (isJsonObject(json.error)) return { error: fromJsonRpcError(json.error) };
    return 'result' in json ? { result: json.result } : undefined;
  }
}

function notJsonRpc(sent: HttpRequest): LegateError {
  return new LegateError(
    'PEER_INVALID',
    `${targetOf(sent)} answered what is not a JSON-RPC response: check the address in the agent card`,
  );
}
