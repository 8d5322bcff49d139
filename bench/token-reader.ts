/** Reads many streams of tokens at once, and notes how late each token comes. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { answerQuestions } from './ipc.ts';

/** What this process can be asked: the delays of all tokens but the first ones of each stream. */
export interface ReadingJob {
  readonly port: number;
  readonly streams: number;
  /** Of each stream. */
  readonly tokens: number;
  /** Tokens of each stream that do not count: connections open and code warms up during them. */
  readonly warmUp: number;
}

/** Milliseconds. */
export interface Delays {
  readonly median: number;
  readonly p99: number;
}

answerQuestions<ReadingJob, Delays>(async ({ port, streams, tokens, warmUp }) => {
  const lists = await Promise.all(Array.from({ length: streams }, () => readOne(port, tokens)));
  const delays = lists.flatMap((list) => list.slice(warmUp));
  return { median: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
});

/** The time that it was due; several may come as one piece. */
const token = /(\d{13}(?:\.\d+)?) /g;

/** Plain node:http: what reads 10,000 events a second must not be what is measured. */
async function readOne(port: number, tokens: number): Promise<readonly number[]> {
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
    for (const [, due] of (rest + text.slice(0, end)).matchAll(token)) {
      delays.push(now - Number(due));
    }
    rest = end === 0 ? rest + text : text.slice(end);
  });
  await once(response, 'end');
  if (delays.length !== tokens) throw new Error(`${delays.length} of ${tokens} tokens came`);
  return delays;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
