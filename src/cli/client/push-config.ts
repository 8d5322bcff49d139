import type { Client } from '../../client/index.ts';
import { present } from '../../config/index.ts';
import { LegateError, type TaskPushNotificationConfig } from '../../protocol/index.ts';
import type { ClientCommandOptions } from '../commands/options.ts';
import type {
  CreateWebhookOptions,
  DeleteWebhookOptions,
  GetWebhookOptions,
} from '../commands/tasks.ts';
import { calling } from './calling.ts';
import { Output } from './output.ts';
import type { Session } from './session.ts';
import { taskIdOf } from './tasks.ts';
import type { TextWriter } from './text.ts';

/** A task, and the agent that has it. */
interface Subject {
  readonly taskId: string;
  readonly client: Client;
  readonly session: Session;
}

/** Calls an operation on the webhooks of a task, and prints the answer. */
async function withTask<Answer>(
  operands: readonly string[],
  options: ClientCommandOptions,
  ask: (subject: Subject) => Promise<Answer>,
  render: (text: TextWriter, answer: Answer) => void,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const taskId = taskIdOf(session);
    const client = await session.connect();
    const { name, capabilities } = client.card;
    if (capabilities.pushNotifications !== true) {
      throw new LegateError(
        'PUSH_NOTIFICATION_NOT_SUPPORTED',
        `the card of ${JSON.stringify(name)} declares no push notifications`,
      );
    }
    const answer = await session.answered(ask({ taskId, client, session }));
    new Output(session).document(answer ?? {}, (text) => render(text, answer));
  });
}

export async function createWebhook(
  operands: readonly string[],
  options: CreateWebhookOptions,
): Promise<void> {
  const { url, id, token, scheme } = options;
  const credentials = process.env['A2ACLI_PUSH_CREDENTIALS'];
  const authentication = scheme === undefined ? undefined : present({ scheme, credentials });
  const create = ({ taskId, client, session }: Subject) => {
    for (const secret of [credentials, token]) {
      if (secret !== undefined) session.redactor.add(secret);
    }
    const config = { taskId, url, ...present({ id, token, authentication }) };
    return client.createTaskPushNotificationConfig(config, { signal: session.signal });
  };
  await withTask(operands, options, create, show);
}

export async function getWebhook(
  operands: readonly string[],
  options: GetWebhookOptions,
): Promise<void> {
  const get = ({ taskId, client, session: { signal } }: Subject) =>
    client.getTaskPushNotificationConfig({ taskId, ...present({ id: options.id }) }, { signal });
  await withTask(operands, options, get, show);
}

export async function listWebhooks(
  operands: readonly string[],
  options: ClientCommandOptions,
): Promise<void> {
  const list = ({ taskId, client, session: { signal } }: Subject) =>
    client.listTaskPushNotificationConfigs({ taskId }, { signal });
  await withTask(operands, options, list, (text, { configs }) => {
    for (const config of configs) show(text, config);
    text.field('Webhooks', configs.length);
  });
}

export async function deleteWebhook(
  operands: readonly string[],
  options: DeleteWebhookOptions,
): Promise<void> {
  const { id } = options;
  const remove = ({ taskId, client, session: { signal } }: Subject) =>
    client.deleteTaskPushNotificationConfig({ taskId, id }, { signal });
  await withTask(operands, options, remove, (text) => text.field('Deleted', id));
}

function show(text: TextWriter, { id, taskId, url }: TaskPushNotificationConfig): void {
  text.field('Webhook', id);
  text.field('Task', taskId);
  text.field('Address', url);
  text.blank();
}
