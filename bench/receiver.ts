/** A webhook receiver that fails every tenth call, alternately with an error and a broken connection. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions } from './ipc.ts';

/** The calls that a receiver has counted. */
export interface Received {
  readonly calls: number;
  readonly failed: number;
  /** Distinct accepted deliveries. */
  readonly delivered: number;
  /** Deliveries accepted after a later one of the same webhook. */
  readonly outOfOrder: number;
}

const period = 10;

if (import.meta.main) {
  const last = new Map<string, number>();
  let calls = 0;
  let failed = 0;
  let delivered = 0;
  let outOfOrder = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      calls += 1;
      if (calls % period === 0) {
        failed += 1;
        if (failed % 2 === 0) response.destroy();
        else response.writeHead(503).end();
        return;
      }
      const hook = request.url ?? '';
      const sequence = Number(String(request.headers['idempotency-key']).split('/').at(-1));
      const before = last.get(hook) ?? 0;
      if (sequence > before) {
        delivered += 1;
        // Skipped deliveries can only arrive too late now.
        outOfOrder += sequence - before - 1;
        last.set(hook, sequence);
      }
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  answerQuestions<unknown, Received>(async () => ({ calls, failed, delivered, outOfOrder }), {
    port: (server.address() as AddressInfo).port,
  });
}
