import type { IncomingMessage } from 'node:http';
import { isSameSecret } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import {
  isTerminal,
  taskStatusOf,
  LegateError,
  parseJson,
  type StreamResponse,
  type TaskPushNotificationConfig,
  v1,
} from '../../protocol/index.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import type {
  CreateWebhookOptions,
  DeleteWebhookOptions,
  GetWebhookOptions,
  ListenCommandOptions,
} from '../commands/tasks.ts';
import { openLocalServer } from '../local-server.ts';
import { readAtMost, usage } from '../usage.ts';
import { callingTask, type TaskCall } from './tasks.ts';
import type { TextWriter } from './text.ts';

type Operands = readonly string[];

/** Calls an operation on the webhooks of a task, and prints the answer. */
function callingWebhooks<Answer>(
  operands: Operands,
  options: ClientCommandOptions,
  operation: (call: TaskCall) => Promise<Answer>,
  render: (text: TextWriter, answer: Answer) => void,
): Promise<void> {
  return callingTask(operands, options, async (call) => {
    const { name, capabilities } = call.client.card;
    if (capabilities.pushNotifications !== true) {
      throw new LegateError(
        'PUSH_NOTIFICATION_NOT_SUPPORTED',
        `the card of ${JSON.stringify(name)} declares no push notifications`,
      );
    }
    const answer = await call.session.answered(operation(call));
    call.output.document(answer ?? {}, (text) => render(text, answer));
  });
}

export function createWebhook(operands: Operands, options: CreateWebhookOptions): Promise<void> {
  const { url, id, token, scheme } = options;
  const credentials = process.env['A2ACLI_PUSH_CREDENTIALS'];
  const authentication = scheme === undefined ? undefined : present({ scheme, credentials });
  const create = ({ id: taskId, client, session, signal }: TaskCall) => {
    session.redactor.add(credentials, token);
    const config = { taskId, url, ...present({ id, token, authentication }) };
    return client.createTaskPushNotificationConfig(config, { signal });
  };
  return callingWebhooks(operands, options, create, show);
}

export function getWebhook(operands: Operands, options: GetWebhookOptions): Promise<void> {
  const { id } = options;
  const get = ({ id: taskId, client, signal }: TaskCall) =>
    client.getTaskPushNotificationConfig({ taskId, ...present({ id }) }, { signal });
  return callingWebhooks(operands, options, get, show);
}

export function listWebhooks(operands: Operands, options: ClientCommandOptions): Promise<void> {
  const list = ({ id: taskId, client, signal }: TaskCall) =>
    client.listTaskPushNotificationConfigs({ taskId }, { signal });
  return callingWebhooks(operands, options, list, (text, { configs }) => {
    for (const config of configs) show(text, config);
    text.field('Webhooks', configs.length);
  });
}

export function deleteWebhook(operands: Operands, options: DeleteWebhookOptions): Promise<void> {
  const { id } = options;
  const remove = ({ id: taskId, client, signal }: TaskCall) =>
    client.deleteTaskPushNotificationConfig({ taskId, id }, { signal });
  return callingWebhooks(operands, options, remove, (text) => text.field('Deleted', id));
}

function show(text: TextWriter, { id, taskId, url }: TaskPushNotificationConfig): void {
  text.field('Webhook', id);
  text.field('Task', taskId);
  text.field('Address', url);
  text.blank();
}

const maxEventBytes = 4 * 1024 * 1024;

/** Receives the webhook calls of a task until it ends, and prints each. */
export function listen(
  operands: Operands,
  { port, host, ...options }: ListenCommandOptions,
): Promise<void> {
  return callingTask(operands, options, async ({ id: taskId, client, session, signal, output }) => {
    const token = crypto.randomUUID();
    session.redactor.add(token);
    // At the end of the task, after the last call, or on an interrupt.
    const ended = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    let remaining = options.count ?? Infinity;
    const receive = async (request: IncomingMessage): Promise<number> => {
      if (request.method !== 'POST') return 405;
      const given = request.headers['x-a2a-notification-token'];
      if (!isSameSecret(token, String(given ?? ''))) return 401;
      const event = await readEvent(request);
      if (event === undefined) return 400;
      output.event(event);
      remaining -= 1;
      if (remaining <= 0 || hasEnded(event)) ended.resolve();
      return 204;
    };
    await using server = await openLocalServer(
      async (request, response) => {
        response.writeHead(await receive(request), { Connection: 'close' }).end();
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
      if (id === undefined) return;
      await client.deleteTaskPushNotificationConfig({ taskId, id }).catch((error: unknown) => {
        session.warn(`the webhook could not be deleted: ${String(error)}`);
      });
    } finally {
      output.text.closeBlock();
    }
  });
}

async function readEvent(request: IncomingMessage): Promise<StreamResponse | undefined> {
  try {
    const body = await readAtMost(request, maxEventBytes);
    return body && v1.streamResponse.decode(parseJson(body.toString('utf8')));
  } catch {
    // Cut off, or not a StreamResponse: the sender gets an error.
    return undefined;
  }
}

function hasEnded(event: StreamResponse): boolean {
  const status = taskStatusOf(event);
  return status !== undefined && isTerminal(status.state);
}
