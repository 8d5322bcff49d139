/** The load generator: a process that runs the jobs that it receives, one at a time. */
import { Connection } from './connection.ts';
import { answerQuestions } from './ipc.ts';
import type { Job, LoadResult, RequestTemplate } from './protocol.ts';

const ignored: Connection[] = [];

answerQuestions<Job, LoadResult | undefined>(async (job) => {
  if (job.kind === 'load') return load(job);
  if (job.kind === 'ignore') {
    const connection = await Connection.open(job.request.port);
    connection.ignore(requestMaker(job.request)());
    ignored.push(connection);
  } else {
    for (const connection of ignored.splice(0)) connection.close();
  }
  return undefined;
});

async function load(job: Extract<Job, { kind: 'load' }>): Promise<LoadResult> {
  const nextRequest = requestMaker(job.request);
  const connections = await Promise.all(
    Array.from({ length: job.connections }, () => Connection.open(job.request.port)),
  );
  const latencies: number[] = [];
  let sent = 0;
  const { perSecond } = job;
  let errors = 0;
  let bytes = 0;
  let firstError: string | undefined;
  const start = performance.now();
  const end = start + job.milliseconds;

  await Promise.all(
    connections.map(async (connection) => {
      while (sent < job.requests) {
        const dueAt =
          perSecond === undefined ? performance.now() : start + (sent / perSecond) * 1000;
        if (dueAt >= end) return;
        sent += 1;
        await until(dueAt);
        const { status, tail, bytes: length } = await connection.send(nextRequest());
        latencies.push(performance.now() - dueAt);
        bytes += length;
        if (status !== 200 || !tail.includes(job.request.expects)) {
          errors += 1;
          firstError ??= `${status} ${tail.slice(0, 300)}`;
        }
      }
    }),
  );

  const seconds = (performance.now() - start) / 1000;
  for (const connection of connections) connection.close();
  const sorted = Float64Array.from(latencies).sort();
  return {
    requests: sorted.length,
    errors,
    seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    bytes,
    ...(firstError !== undefined && { firstError }),
  };
}

async function until(time: number): Promise<void> {
  // Rounded up: a timer can fire a fraction of a millisecond early.
  const milliseconds = Math.ceil(time - performance.now());
  if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function requestMaker(template: RequestTemplate): () => string {
  const { before, after, values } = template;
  const head =
    'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n' +
    `Accept: ${template.accept}\r\nA2A-Version: 1.0\r\nContent-Length: `;
  // Shaped like a UUID; a random prefix separates the ids of different jobs.
  const prefix = crypto.randomUUID().slice(0, 24);
  let count = 0;
  return () => {
    count += 1;
    const value = values?.[count % values.length] ?? prefix + count.toString(16).padStart(12, '0');
    const length = before.length + value.length + after.length;
    return `${head}${length}\r\n\r\n${before}${value}${after}`;
  };
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
