import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  isTerminal,
  LegateError,
  parseJson,
  type StreamResponse,
  v1,
} from '../../protocol/index.ts';
import type { ListenCommandOptions } from '../commands/tasks.ts';
import { calling } from './calling.ts';
import { taskIdOf } from './tasks.ts';
import { Output } from './output.ts';

const mostBytes = 4 * 1024 * 1024;

/** Receives the webhooks of a task until it ends, and shows each as it comes. */
export async function listen(
  operands: readonly string[],
  options: ListenCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const taskId = taskIdOf(session);
    const client = await session.connect();
    const output = new Output(session);
    const token = crypto.randomUUID();
    session.redactor.add(token);
    const receiver = new Receiver(token, options.count ?? Infinity, (event) => output.event(event));
    const port = await receiver.open(options.port, options.host);
    const { signal } = session;
    try {
      const url = options.url ?? `http://${options.host}:${port}/`;
      const config = { taskId, url, token };
      const { id } = await client.createTaskPushNotificationConfig(config, { signal });
      session.warn(`listening at ${url}`);
      await receiver.finished(session.signal);
      if (id !== undefined) {
        await client.deleteTaskPushNotificationConfig({ taskId, id }).catch((error: unknown) => {
          session.warn(`the webhook was left there: ${(error as Error).message}`);
        });
      }
    } finally {
      output.closeStream();
      await receiver.close();
    }
  });
}

/** A server that takes calls with the right token, and ends when the task has. */
class Receiver {
  readonly #token: Buffer;
  readonly #server: Server;
  readonly #end = Promise.withResolvers<void>();
  readonly #onEvent: (event: StreamResponse) => void;
  #left: number;

  constructor(token: string, count: number, onEvent: (event: StreamResponse) => void) {
    this.#token = Buffer.from(token);
    this.#left = count;
    this.#onEvent = onEvent;
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  open(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (cause) =>
        reject(new LegateError('CONFIGURATION_INVALID', `port ${port}: ${cause.message}`)),
      );
      this.#server.listen(port, host, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  /** Resolves at the end of the task, after the last call, or when it is interrupted. */
  finished(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#end.resolve(), { once: true });
    return this.#end.promise;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeIdleConnections();
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number): void => {
      response.writeHead(status, { Connection: 'close' }).end();
    };
    const given = Buffer.from(String(request.headers['x-a2a-notification-token'] ?? ''));
    const isOurs = given.length === this.#token.length && timingSafeEqual(given, this.#token);
    if (request.method !== 'POST' || !isOurs) return answer(request.method === 'POST' ? 401 : 405);
    const event = await readEvent(request);
    if (event === undefined) return answer(400);
    answer(204);
    this.#onEvent(event);
    this.#left -= 1;
    if (this.#left <= 0 || hasEnded(event)) this.#end.resolve();
    return undefined;
  }
}

async function readEvent(request: IncomingMessage): Promise<StreamResponse | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > mostBytes) return undefined;
      pieces.push(piece);
    }
    return v1.streamResponse.decode(parseJson(Buffer.concat(pieces).toString('utf8')));
  } catch {
    // Cut off, or not a StreamResponse: the caller is told that it is none.
    return undefined;
  }
}

function hasEnded(event: StreamResponse): boolean {
  if ('task' in event) return isTerminal(event.task.status.state);
  return 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state);
}
