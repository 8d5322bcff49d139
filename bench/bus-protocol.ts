/** The names and messages that the processes of the bus row share. */

export const busExchange = 'bench';
export const busAgentName = 'echo';
/** Requests in flight at one time. */
export const inFlight = 256;

/** The bare side responds with as many bytes as the result of a task. */
export const answerBytes = 553;

/** The bare side stores requests like the bus does: in a replicated queue. */
export const bareQueue = {
  queue: 'bench.bare',
  queueOptions: { queue: 'bench.bare', durable: true, arguments: { 'x-queue-type': 'quorum' } },
} as const;

/** The queue of rabbitmq-client's own request and reply, which is lost with the broker. */
export const rpcQueue = 'bench.rpc';

/**
 * - `ours`: a task of an agent on the bus, stored in SQLite.
 * - `bare`: the same messages with rabbitmq-client only: stored, confirmed and acknowledged alike.
 * - `rpc`: the library's own request and reply, which stores nothing.
 */
export const busKinds = ['ours', 'bare', 'rpc'] as const;
export type BusKind = (typeof busKinds)[number];

export interface BusLoad {
  readonly kind: BusKind;
  readonly seconds: number;
}

export interface BusLoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}
