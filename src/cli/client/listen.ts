import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isTerminal, parseJson, type StreamResponse, v1 } from '../../protocol/index.ts';
import type { ListenCommandOptions } from '../commands/tasks.ts';
import { openLocalServer } from '../local-server.ts';
import { usage } from '../usage.ts';
import { calling } from './calling.ts';
import { Output } from './output.ts';
import { taskIdOf } from './tasks.ts';

const mostBytes = 4 * 1024 * 1024;

/** Receives the webhook calls of a task until it ends, and prints each. */
export async function listen(
  operands: readonly string[],
  { port, host, ...options }: ListenCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const taskId = taskIdOf(session);
    const client = await session.connect();
    const { signal } = session;
    const output = new Output(session);
    const token = crypto.randomUUID();
    session.redactor.add(token);
    // At the end of the task, after the last call, or on an interrupt.
    const ended = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    let left = options.count ?? Infinity;
    const take = async (request: IncomingMessage): Promise<number> => {
      if (request.method !== 'POST') return 405;
      if (!isSame(String(request.headers['x-a2a-notification-token'] ?? ''), token)) return 401;
      const event = await readEvent(request);
      if (event === undefined) return 400;
      output.event(event);
      left -= 1;
      if (left <= 0 || hasEnded(event)) ended.resolve();
      return 204;
    };
    await using server = await openLocalServer(
      (request, response) => {
        void take(request).then((status) =>
          response.writeHead(status, { Connection: 'close' }).end(),
        );
      },
      {
        port,
        host,
        graceMs: 1_000,
        refused: (cause) => usage(`port ${port}: ${cause.message}`, cause),
      },
    );
    try {
      const url = options.url ?? `http://${host}:${server.port}/`;
      const config = { taskId, url, token };
      const { id } = await client.createTaskPushNotificationConfig(config, { signal });
      session.warn(`listening at ${url}`);
      await ended.promise;
      if (id !== undefined) {
        await client.deleteTaskPushNotificationConfig({ taskId, id }).catch((error: unknown) => {
          session.warn(`the webhook could not be deleted: ${(error as Error).message}`);
        });
      }
    } finally {
      output.closeStream();
    }
  });
}

function isSame(given: string, token: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(token)];
  return left.length === right.length && timingSafeEqual(left, right);
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
    // Cut off, or not a StreamResponse: the sender gets an error.
    return undefined;
  }
}

function hasEnded(event: StreamResponse): boolean {
  if ('task' in event) return isTerminal(event.task.status.state);
  return 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state);
}
