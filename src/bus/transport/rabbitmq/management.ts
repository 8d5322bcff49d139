import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';
import { LegateError, parseJson } from '../../../protocol/index.ts';
import { within } from '../../../time/index.ts';
import { type BrokerTls, currentTls } from './broker-tls.ts';
import { decodeUrlPart, parseBrokerUrl } from './broker-url.ts';
import type { RabbitConnectionOptions } from './connection.ts';

/**
 * A queue as the management API of RabbitMQ shows it.
 * @example const isIdle = ({ consumers }: BrokerQueue) => consumers === 0;
 */
export interface BrokerQueue {
  readonly name: string;
  readonly type: string;
  readonly messages: number;
  readonly unacknowledged: number;
  readonly consumers: number;
  /** When the first message was published, in milliseconds since 1970; classic queues only. */
  readonly oldest: number | undefined;
}

const queueSchema = z.object({
  name: z.string(),
  type: z.string().default('classic'),
  // A queue whose statistics are not collected yet has no numbers.
  messages_ready: z.number().default(0),
  messages_unacknowledged: z.number().default(0),
  consumers: z.number().default(0),
  head_message_timestamp: z.number().nullish(),
});

const timeoutMs = 5_000;
const maxBytes = 32 * 1024 * 1024;

/**
 * The queues of a virtual host, from the management API. Rejects with `UNAVAILABLE` if it can't be used.
 * @example const queues = await brokerQueues({ url: 'amqp://guest:guest@localhost' });
 */
export async function brokerQueues(
  options: Pick<RabbitConnectionOptions, 'url' | 'vhost' | 'tls'> & {
    /** @default port 15672 of the broker's host, or 15671 with TLS */
    readonly managementUrl?: string | undefined;
  },
): Promise<readonly BrokerQueue[]> {
  const { url: given, tls, managementUrl } = options;
  const broker = parseBrokerUrl(given);
  const isTls = broker.protocol === 'amqps:';
  const standard = `${isTls ? 'https' : 'http'}://${broker.hostname}:${isTls ? 15671 : 15672}`;
  const vhost = options.vhost ?? (decodeUrlPart('virtual host', broker.pathname.slice(1)) || '/');
  const columns =
    'name,type,messages_ready,messages_unacknowledged,consumers,head_message_timestamp';
  const base = (managementUrl ?? standard).replace(/\/+$/, '');
  const target = new URL(`${base}/api/queues/${encodeURIComponent(vhost)}?columns=${columns}`);
  const user = decodeUrlPart('user', target.username || broker.username || 'guest');
  const password = decodeUrlPart('password', target.password || broker.password || 'guest');
  target.username = '';
  target.password = '';
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const { status, body } = await get(target, { authorization, tls: await currentTls(tls) });
  if (status === 401 || status === 403) {
    throw unavailable(
      target,
      `user ${JSON.stringify(user)} may not use it; it needs the tag "monitoring"`,
    );
  }
  if (status !== 200) throw unavailable(target, `it answered with status ${status}`);
  const parsed = z.array(queueSchema).safeParse(parseJson(body));
  if (!parsed.success) throw unavailable(target, 'its answer is not a list of queues');
  return parsed.data.map((queue) => ({
    name: queue.name,
    type: queue.type,
    messages: queue.messages_ready,
    unacknowledged: queue.messages_unacknowledged,
    consumers: queue.consumers,
    oldest: queue.head_message_timestamp == null ? undefined : queue.head_message_timestamp * 1000,
  }));
}

function get(
  url: URL,
  { authorization, tls = {} }: { authorization: string; tls: BrokerTls | undefined },
): Promise<{ readonly status: number; readonly body: string }> {
  const reason = (): Error => unavailable(url, `no answer within ${timeoutMs} ms`);
  const ask = (signal: AbortSignal) =>
    new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
      const fail = (cause: Error): void => reject(unavailable(url, cause.message, cause));
      const options = { headers: { authorization }, signal, ...tls };
      const request =
        url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
      request.on('error', fail);
      request.on('response', (response) => {
        const pieces: Buffer[] = [];
        let size = 0;
        response.on('data', (piece: Buffer) => {
          size += piece.length;
          if (size > maxBytes) response.destroy(new Error(`more than ${maxBytes} bytes`));
          else pieces.push(piece);
        });
        response.on('error', fail);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(pieces).toString('utf8'),
          });
        });
      });
      request.end();
    });
  return within({ milliseconds: timeoutMs, reason }, ask);
}

function unavailable(url: URL, reason: string, cause?: unknown): LegateError {
  return new LegateError(
    'UNAVAILABLE',
    `no answer from the management API at ${url.origin}: ${reason}`,
    { cause },
  );
}
