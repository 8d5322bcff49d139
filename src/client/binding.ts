import { type AgentInterface, type Dialect, isJsonObject, LegateError } from '../protocol/index.ts';
import type { Http } from './http.ts';
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

/**
 * A binding beside the two over HTTP. It is given to the client, which so needs nothing of Node:
 * `grpcBinding()` makes the one for gRPC.
 * @example
 * const binding: ClientBinding = grpcBinding();
 * const client = await connect('https://agent.example', { bindings: [binding], binding: 'GRPC' });
 */
export interface ClientBinding {
  readonly binding: 'GRPC';
  /**
   * Where an address of a card leads: `https` where the wire is encrypted, `http` where it is not,
   * with host and port and nothing else. Undefined for what is no address of the binding.
   */
  locate(address: string): URL | undefined;
  /** Connects with the first call, not before. */
  open(chosen: ChosenInterface, limits: BindingLimits): BindingChannel;
}

/**
 * The client's options of these names.
 * @example const limits: BindingLimits = { maxBodySize: 4 * 1024 * 1024, maxEventSize: 256 * 1024 };
 */
export interface BindingLimits {
  readonly maxBodySize: number;
  readonly maxEventSize: number;
}

/**
 * What goes with a request.
 * @example const call: BindingCall = { headers: new Headers({ 'A2A-Version': '1.0' }), timeoutMs: 5_000 };
 */
export interface BindingCall {
  /** Credentials included: what may not be sent was refused before. */
  readonly headers: Headers;
  readonly signal?: AbortSignal | undefined;
  /** What is left of the caller's time, in milliseconds. @default no limit */
  readonly timeoutMs?: number | undefined;
}

/**
 * One interface of one agent, spoken to in JSON as the version has it, in 0.3 in the form of
 * HTTP+JSON. Makes each request once. Rejects with the error that the peer sent, `PEER_UNREACHABLE`
 * where there was no answer, `PEER_INVALID` where it was not A2A, and the reason of the signal.
 * @example const read = (channel: BindingChannel, id: string) => channel.call('getTask', { id }, { headers });
 */
export interface BindingChannel {
  call(operation: CallOperation, json: unknown, call: BindingCall): Promise<unknown>;
  /** Resolves when the stream is open. Leaving the loop over it ends it. */
  stream(
    operation: StreamOperation,
    json: unknown,
    call: BindingCall,
  ): Promise<AsyncIterable<unknown>>;
  /** Lets go of the connection once the calls under way are over; a later call makes another. */
  close(): void;
}

/** A binding that was given to the client: the channel carries JSON, all else is as over HTTP. */
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
        yield { response, isFinal: this.#isFinal(body) };
      }
    } catch (error) {
      throw this.#redacted(error);
    }
  }

  /** Credentials that are made on demand are made once more where the peer refuses them. */
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
      throw new LegateError(
        'CONFIGURATION_INVALID',
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

  #isFinal(body: unknown): boolean {
    if (this.#chosen.version !== '0.3' || !isJsonObject(body)) return false;
    return isJsonObject(body.statusUpdate) && body.statusUpdate.final === true;
  }

  #redacted(error: unknown): unknown {
    return error instanceof LegateError ? this.#http.credentials.redact(error) : error;
  }

  #target(operation: string): string {
    return `${operation} at ${this.#chosen.url.origin}`;
  }
}
