import type { ServerResponse } from 'node:http';
import { type Receiver, startReceiver } from '../../src/push/receiver.contract.ts';
import type { Random } from './random.ts';

/** A webhook that refuses a call now and then, and keeps what it took. */
export interface Webhooks extends AsyncDisposable {
  readonly url: string;
  /** The numbers of the events of each task, in the order in which they were taken. */
  readonly taken: ReadonlyMap<string, readonly number[]>;
}

/** Times that one event is refused: fewer than a delivery has attempts, so that none is dead. */
const mostRefusals = 3;

export async function startWebhooks(random: Random): Promise<Webhooks> {
  const taken = new Map<string, number[]>();
  const refused = new Map<string, number>();
  const receiver: Receiver = await startReceiver(({ headers }, response: ServerResponse) => {
    const key = String(headers['idempotency-key']);
    const refusals = refused.get(key) ?? 0;
    if (refusals < mostRefusals && random.next() < 0.1) {
      refused.set(key, refusals + 1);
      response.writeHead(503).end();
      return;
    }
    const [taskId = '', , sequence] = key.split('/');
    const events = taken.get(taskId) ?? [];
    events.push(Number(sequence));
    taken.set(taskId, events);
    response.writeHead(204).end();
  });
  return { url: receiver.url, taken, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() };
}
