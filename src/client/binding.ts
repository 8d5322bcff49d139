import {
  type AgentInterface,
  type Dialect,
  invalidConfiguration,
  LegateError,
} from '../protocol/index.ts';
import type { Http } from './http.ts';
import type { ChosenInterface } from './interface-choice.ts';
import {
  decodeAnswer,
  isFinalEvent,
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

/**
 * A binding besides JSON-RPC and HTTP+JSON. It is passed to the client, so that the client itself needs
 * no Node.js API. `grpcBinding()` creates the one for gRPC.
 * @example
 * const binding: ClientBinding = grpcBinding();
 * const client = await connect('https://agent.example', { bindings: [binding], binding: 'GRPC' });
 */
export interface ClientBinding {
  readonly binding: 'GRPC';
  /**
   * Converts an address of a card to a URL with host and port only: `https` if the connection is
   * encrypted, otherwise `http`. Undefined for an invalid address.
   */
  locate(address: string): URL | undefined;
  /** Connects on the first call. */
  open(chosen: ChosenInterface, limits: BindingLimits): BindingChannel;
}

/**
 * The limits of a binding, from the client's options of the same names.
 * @example const limits: BindingLimits = { maxBodySize: 4 * 1024 * 1024, maxEventSize: 256 * 1024 };
 */
export interface BindingLimits {
  readonly maxBodySize: number;
  readonly maxEventSize: number;
}

/**
 * Headers and limits of a request.
 * @example const call: BindingCall = { headers: new Headers({ 'A2A-Version': '1.0' }), timeoutMs: 5_000 };
 */
export interface BindingCall {
  /** Includes the credentials, which the client checked. */
  readonly headers: Headers;
  readonly signal?: AbortSignal | undefined;
  /** The caller's remaining time, in milliseconds. @default no limit */
  readonly timeoutMs?: number | undefined;
}

/**
 * A connection to one interface of one agent. Requests and responses are JSON of the interface's version,
 * in 0.3 in the form of HTTP+JSON. Sends each request once. Rejects with the error that the peer sent,
 * `PEER_UNREACHABLE` without a response, `PEER_INVALID` if the response is not A2A, or the reason of the
 * signal.
 * @example const read = (channel: BindingChannel, id: string) => channel.call('getTask', { id }, { headers });
 */
export interface BindingChannel {
  call(operation: CallOperation, json: unknown, call: BindingCall): Promise<unknown>;
  /** Resolves when the stream is open. Leaving the loop over it closes the stream. */
  stream(
    operation: StreamOperation,
    json: unknown,
    call: BindingCall,
  ): Promise<AsyncIterable<unknown>>;
  /** Closes the connection when the calls in flight have ended; a later call opens a new one. */
  close(): void;
}

/** A transport over a custom binding, whose channel carries JSON. */
export class BoundTransport implements Transport {
  readonly interface: AgentInterface;
  readonly #chosen: ChosenInterface;
  readonly #channel: BindingChannel;
  readonly #http: Http;
  readonly #codecs: OperationCodecs;
  readonly #extensions: readonly string[];

  constructor(
    chosen: ChosenInterface,
    dialect: Dialect,
    channel: BindingChannel,
    http: Http,
    extensions: readonly string[],
  ) {
    this.interface = chosen.interface;
    this.#chosen = chosen;
    this.#channel = channel;
    this.#http = http;
    this.#codecs = operationCodecs(dialect);
    this.#extensions = extensions;
  }

  async call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportCall,
  ): Promise<Exchanges[O][1]> {
    const { encode, decode } = this.#codecs[operation];
    const json = encode(request);
    const answer = await this.#authenticated(operation, call, (prepared) =>
      this.#channel.call(operation, json, prepared),
    );
    return decodeAnswer(decode, answer, this.#target(operation));
  }

  async stream<O extends StreamOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportStream,
  ): Promise<AsyncIterable<Frame>> {
    const json = this.#codecs[operation].encode(request);
    const events = await this.#authenticated(operation, call, (prepared) =>
      this.#channel.stream(operation, json, prepared),
    );
    return this.#frames(operation, events, call);
  }

  close(): void {
    this.#channel.close();
  }

  async *#frames(
    operation: StreamOperation,
    events: AsyncIterable<unknown>,
    call: TransportStream,
  ): AsyncGenerator<Frame> {
    const { decode } = this.#codecs[operation];
    try {
      for await (const body of events) {
        call.onActivity?.();
        const response = decodeAnswer(decode, body, this.#target(operation));
        yield { response, isFinal: isFinalEvent(this.#chosen.version, body) };
      }
    } catch (error) {
      throw this.#redacted(error);
    }
  }

  /** Renews credentials from a provider once if the peer rejects them. */
  async #authenticated<T>(
    operation: CallOperation | StreamOperation,
    call: TransportStream,
    send: (prepared: BindingCall) => Promise<T>,
  ): Promise<T> {
    try {
      try {
        return await send(await this.#prepare(operation, call, false));
      } catch (error) {
        const isRefused = error instanceof LegateError && error.code === 'UNAUTHENTICATED';
        if (!isRefused || !this.#http.credentials.areRenewable) throw error;
        return await send(await this.#prepare(operation, call, true));
      }
    } catch (error) {
      throw this.#redacted(error);
    }
  }

  async #prepare(
    operation: string,
    call: TransportStream,
    isRejected: boolean,
  ): Promise<BindingCall> {
    const { binding, url: address, version } = this.#chosen;
    const request = {
      method: 'POST',
      url: address,
      operation,
      headers: operationHeaders(version, this.#extensions, call),
    } as const;
    const { url, headers } = await this.#http.prepare(request, isRejected);
    if (url.search !== '') {
      throw invalidConfiguration(
        `an API key in the query cannot be sent over ${binding}: send it in a header`,
      );
    }
    call.signal?.throwIfAborted();
    call.sendUntil?.throwIfAborted();
    const { signal, deadline } = call;
    return {
      headers,
      signal,
      ...(deadline !== undefined && { timeoutMs: Math.max(1, deadline - this.#http.now()) }),
    };
  }

  #redacted(error: unknown): unknown {
    return error instanceof LegateError ? this.#http.credentials.redact(error) : error;
  }

  #target(operation: string): string {
    return `${operation} at ${this.#chosen.url.origin}`;
  }
}
