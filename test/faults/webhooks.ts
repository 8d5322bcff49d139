import type { ServerResponse } from 'node:http';
import { type Receiver, startReceiver } from '../../src/push/receiver.contract.ts';
import type { Random } from './random.ts';

/** A webhook that refuses a call now and then, and keeps what it took. */
export interface Webhooks extends AsyncDisposable {
  readonly url: string;
  /** The numbers of the events of each task, in the order in which they were taken. */
  readonly taken: ReadonlyMap<string, readonly number[]>;
}

export async function startWebhooks(random: Random): Promise<Webhooks> {
  const taken = new Map<string, number[]>();
  const receiver: Receiver = await startReceiver(({ headers }, response: ServerResponse) => {
    if (random.next() < 0.1) {
      response.writeHead(503).end();
      return;
    }
    const [taskId = '', , sequence] = String(headers['idempotency-key']).split('/');
    const events = taken.get(taskId) ?? [];
    events.push(Number(sequence));
    taken.set(taskId, events);
    response.writeHead(204).end();
  });
  return { url: receiver.url, taken, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() };
}
