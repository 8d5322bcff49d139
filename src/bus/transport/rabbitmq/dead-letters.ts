import type { Connection, SyncMessage } from 'rabbitmq-client';
import type { Logger } from '../../../telemetry/index.ts';
import type { DeadLetter } from '../bus.ts';
import type { RabbitPublisher } from './publisher.ts';
import { codeOf, deadQueueName, withChannel } from './topology.ts';
import { fromWire, toEnvelopeAgain } from './wire.ts';

/** Looked through at most, so that a replay cannot follow its own tail. */
const mostLetters = 100_000;

/** Takes letters off the queue to look at them; closing the channel puts them back in their places. */
export function listDeadLetters(
  connection: Connection,
  queueName: string,
  limit: number,
): Promise<readonly DeadLetter[]> {
  return whereQueueExists([], () =>
    withChannel(connection, async (channel) => {
      const letters: DeadLetter[] = [];
      while (letters.length < limit) {
        const received = await channel.basicGet({ queue: deadQueueName(queueName) });
        if (received === undefined) break;
        letters.push(toDeadLetter(received));
      }
      return letters;
    }),
  );
}

/** Each letter leaves the dead only once its queue has confirmed that it is back. */
export function replayDeadLetters(
  connection: Connection,
  publisher: RabbitPublisher,
  queueName: string,
  { ids, logger }: { readonly ids: readonly string[] | undefined; readonly logger: Logger },
): Promise<number> {
  return whereQueueExists(0, () =>
    withChannel(connection, async (channel) => {
      const queue = deadQueueName(queueName);
      const { messageCount } = await channel.queueDeclare({ queue, passive: true });
      let replayed = 0;
      for (let seen = 0; seen < Math.min(messageCount, mostLetters); seen += 1) {
        const received = await channel.basicGet({ queue });
        if (received === undefined) break;
        const { message, refusal } = fromWire(received, options);
        if (ids !== undefined && !ids.includes(message.id)) continue;
        if (refusal !== undefined) {
          // It would be refused again at once, and its contents are known to the broker alone.
          logger.warn({ queue, messageId: message.id, reason: refusal }, 'bus.replay.refused');
          continue;
        }
        const envelope = { ...toEnvelopeAgain(message, {}), routingKey: queueName };
        await publisher.send({ ...envelope, mandatory: true }, message.body, { confirm: true });
        channel.basicAck({ deliveryTag: received.deliveryTag });
        replayed += 1;
      }
      return replayed;
    }),
  );
}

const options = { newId: () => 'unknown' };

function toDeadLetter(received: SyncMessage): DeadLetter {
  const { message, attempt, death, refusal } = fromWire(received, options);
  return {
    id: message.id,
    message,
    // The broker knows only that it was rejected.
    reason: refusal ?? death?.reason ?? 'unknown',
    diedAt: death?.diedAt ?? 0,
    attempts: attempt,
  };
}

async function whereQueueExists<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === 'NOT_FOUND') return otherwise;
    throw error;
  }
}
