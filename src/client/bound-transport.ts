import { type AgentInterface, type Dialect, LegateError } from '../protocol/index.ts';
import type { BindingCall, BindingChannel } from './binding.ts';
import { isObject } from './body.ts';
import type { Http } from './http.ts';
import type { ChosenInterface } from './interface-choice.ts';
import { operationHeaders } from './operation-headers.ts';
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

/** A binding that was given to the client: the channel carries JSON, all else is as over HTTP. */
export class BoundTransport implements Transport {
  readonly interface: AgentInterface;
  readonly #chosen: ChosenInterface;
  readonly #channel: BindingChannel;
  readonly #http: Http;
  readonly #wires: Wires;
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
    this.#wires = wiresOf(dialect);
    this.#extensions = extensions;
  }

  async call<O extends CallOperation>(
    operation: O,
    request: Exchanges[O][0],
    call: TransportCall,
  ): Promise<Exchanges[O][1]> {
    const { encode, decode } = this.#wires[operation];
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
    const json = this.#wires[operation].encode(request);
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
    const { decode } = this.#wires[operation];
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
    if (this.#chosen.version !== '0.3' || !isObject(body)) return false;
    return isObject(body.statusUpdate) && body.statusUpdate.final === true;
  }

  #redacted(error: unknown): unknown {
    return error instanceof LegateError ? this.#http.credentials.redact(error) : error;
  }

  #target(operation: string): string {
    return `${operation} at ${this.#chosen.url.origin}`;
  }
}
