import type { Scheduler } from '../../../tasks/index.ts';
import type { BusMessage, QueueSettings } from '../bus.ts';
import type { RabbitPublisher } from './publisher.ts';
import { deadQueueName, type QueueLayout } from './queue-plan.ts';
import { toEnvelopeAgain } from './wire.ts';

/** Publishes a message to the dead letters of its queue, if that keeps any. */
export async function bury(
  letter: {
    readonly settings: QueueSettings;
    readonly message: BusMessage;
    readonly marks: {
      readonly reason: string;
      readonly attempt: number;
      readonly isRefused?: boolean;
    };
  },
  by: {
    readonly publisher: RabbitPublisher;
    readonly layout: QueueLayout;
    readonly scheduler: Scheduler;
  },
): Promise<void> {
  const { settings, message, marks } = letter;
  const { publisher, layout, scheduler } = by;
  if (settings.deadLetters === undefined) return;
  const envelope = toEnvelopeAgain(message, { ...marks, diedAt: scheduler.now() });
  const routingKey = deadQueueName(settings.name, layout);
  const { exchange } = layout;
  await publisher.send({ ...envelope, exchange, routingKey, mandatory: true }, message.body, {
    confirm: true,
  });
}
