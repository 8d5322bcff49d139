import type { Client } from '../../client/index.ts';
import { LegateError, type TaskPushNotificationConfig } from '../../protocol/index.ts';
import type { PushConfigCommandOptions, PushConfigVerb } from '../commands/push-config.ts';
import { calling } from './calling.ts';
import { taskIdOf } from './get.ts';
import { Output } from './output.ts';
import type { TextWriter } from './text.ts';

/** Makes, shows or takes away webhooks of a task. */
export async function managePushConfig(
  verb: PushConfigVerb,
  operands: readonly string[],
  options: PushConfigCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const taskId = taskIdOf(session);
    const credentials = process.env['A2ACLI_PUSH_CREDENTIALS'];
    for (const secret of [credentials, options.token]) {
      if (secret !== undefined) session.redactor.add(secret);
    }
    const client = await session.connect();
    refuseUnsupported(client);
    const call = { signal: session.signal };
    const output = new Output(session);
    const { id } = options;
    const named = id === undefined ? {} : { id };
    switch (verb) {
      case 'create': {
        const config = configOf(taskId, options, credentials);
        const made = await session.answered(client.createTaskPushNotificationConfig(config, call));
        output.document(made, (text) => show(text, made));
        break;
      }
      case 'get': {
        const found = await session.answered(
          client.getTaskPushNotificationConfig({ taskId, ...named }, call),
        );
        output.document(found, (text) => show(text, found));
        break;
      }
      case 'list': {
        const found = await session.answered(
          client.listTaskPushNotificationConfigs({ taskId }, call),
        );
        output.document(found, (text) => {
          for (const config of found.configs) show(text, config);
          text.field('Webhooks', found.configs.length);
        });
        break;
      }
      default:
        await session.answered(
          client.deleteTaskPushNotificationConfig({ taskId, id: id ?? '' }, call),
        );
        output.document({}, (text) => text.field('Deleted', id));
    }
  });
}

function configOf(
  taskId: string,
  { url = '', id, token, scheme }: PushConfigCommandOptions,
  credentials: string | undefined,
): TaskPushNotificationConfig {
  return {
    taskId,
    url,
    ...(id !== undefined && { id }),
    ...(token !== undefined && { token }),
    ...(scheme !== undefined && {
      authentication: { scheme, ...(credentials !== undefined && { credentials }) },
    }),
  };
}

function refuseUnsupported({ card }: Client): void {
  if (card.capabilities.pushNotifications === true) return;
  throw new LegateError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    `the card of ${JSON.stringify(card.name)} says that it calls no webhooks`,
  );
}

function show(text: TextWriter, { id, taskId, url }: TaskPushNotificationConfig): void {
  text.field('Webhook', id);
  text.field('Task', taskId);
  text.field('Address', url);
  text.blank();
}
