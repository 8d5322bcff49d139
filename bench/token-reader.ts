/** Reads many streams of tokens at once, and records the delay of each token. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { answerQuestions } from './ipc.ts';

/** The requests to this process: the delays of all tokens after the warm-up of each stream. */
export interface ReadingJob {
  readonly port: number;
  readonly streams: number;
  /** The tokens of each stream. */
  readonly tokens: number;
  /** Tokens of each stream that are not counted: connections open and code warms up during them. */
  readonly warmUp: number;
}

/** In milliseconds. */
export interface Delays {
  readonly median: number;
  readonly p99: number;
}

answerQuestions<ReadingJob, Delays>(async ({ port, streams, tokens, warmUp }) => {
  const lists = await Promise.all(Array.from({ length: streams }, () => readOne(port, tokens)));
  const delays = lists.flatMap((list) => list.slice(warmUp));
  return { median: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
});

/** The due time of a token; one chunk can contain several. The space after a token comes with the next one. */
const token = /(\d{13}(?:\.\d+)?)(?=[ "])/g;

/** Uses node:http: the reader of 10,000 events per second must not be the bottleneck. */
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
