/** What the processes of the bus row agree on. */

export const busExchange = 'bench';
export const busAgentName = 'echo';
/** Requests under way at one time. */
export const inFlight = 256;

/** The bare side answers with as much as the result of a task has. */
export const answerBytes = 553;

/** The bare side keeps requests as the bus does: in a queue that outlives its machine. */
export const bareQueue = {
  queue: 'bench.bare',
  queueOptions: { queue: 'bench.bare', durable: true, arguments: { 'x-queue-type': 'quorum' } },
} as const;

/** As rabbitmq-client's request and reply has it by itself: gone with the broker. */
export const rpcQueue = 'bench.rpc';

/**
 * - `ours`: a task of an agent on the bus, stored in SQLite.
 * - `bare`: the same messages with rabbitmq-client alone: kept, confirmed and acknowledged alike.
 * - `rpc`: the library's own request and reply, which keeps nothing.
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
