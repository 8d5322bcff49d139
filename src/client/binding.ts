import type { ChosenInterface } from './interface-choice.ts';
import type { CallOperation, StreamOperation } from './transport.ts';

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
