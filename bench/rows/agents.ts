import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type Helper, startHelper } from '../ipc.ts';
import { atMost, type Row } from '../row.ts';
import type { AgentQuestion } from '../servers/agents.ts';

const streams = 200;
const tokens = 250;
/** Connections and code warm up during the first tokens. */
const warmUp = 50;

/** What the framework costs around a model that costs nothing. */
export const agents: Row = {
  name: 'agents',
  title: `agents: a step of the loop, an idle session, ${streams} streams of 50 tokens/s`,
  async run() {
    const { helper, ready } = await startHelper<AgentQuestion, number, { port: number }>({
      file: 'servers/agents.ts',
      core: 0,
    });
    try {
      const stepMicros = await helper.ask({ kind: 'step', runs: 500 });
      const idleBytes = await helper.ask({ kind: 'idle', sessions: 2_000 });
      const { delays, cpuMicros } = await stream(helper, ready.port);
      return {
        notes: {
          'step, CPU us': stepMicros,
          'idle session, bytes': idleBytes,
          'token delay p50, ms': quantile(delays, 0.5),
          'token delay p99, ms': quantile(delays, 0.99),
          'token, server CPU us': cpuMicros / (streams * tokens),
        },
        verdicts: [
          atMost('CPU of a step', stepMicros / 1000, 1, 'ms'),
          atMost('memory of an idle session', idleBytes / 1024, 10, 'KiB'),
          atMost('token delay p99', quantile(delays, 0.99), 50, 'ms'),
        ],
      };
    } finally {
      await helper.stop();
    }
  },
};

/** Reads all streams, and how late each token comes. */
async function stream(
  helper: Helper<AgentQuestion, number>,
  port: number,
): Promise<{ delays: readonly number[]; cpuMicros: number }> {
  const before = await helper.ask({ kind: 'cpu' });
  const lists = await Promise.all(Array.from({ length: streams }, () => readOne(port)));
  const cpuMicros = (await helper.ask({ kind: 'cpu' })) - before;
  return { delays: lists.flatMap((list) => list.slice(warmUp)), cpuMicros };
}

/** Plain node:http: what reads 10,000 events a second must not be what is measured. */
async function readOne(port: number): Promise<readonly number[]> {
  const sending = request({
    host: '127.0.0.1',
    port,
    path: '/message:stream',
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
  });
  const parts = [{ text: String(tokens) }];
  sending.end(
    JSON.stringify({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts } }),
  );
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  const delays: number[] = [];
  let rest = '';
  response.setEncoding('latin1').on('data', (text: string) => {
    const now = performance.timeOrigin + performance.now();
    const end = text.lastIndexOf('\n\n') + 1;
    for (const [, due] of (rest + text.slice(0, end)).matchAll(/"text":"(\d{13}\.\d+)/g)) {
      delays.push(now - Number(due));
    }
    rest = end === 0 ? rest + text : text.slice(end);
  });
  await once(response, 'end');
  return delays;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
