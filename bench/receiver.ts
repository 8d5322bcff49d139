/** A receiver of webhooks that fails every tenth call, by an error and by a broken line in turn. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions } from './ipc.ts';

/** What a receiver has seen. */
export interface Received {
  readonly calls: number;
  readonly failed: number;
  /** Different deliveries that were taken. */
  readonly delivered: number;
  /** Taken after a later one of the same webhook. */
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
        // What was skipped can only come too late now.
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
