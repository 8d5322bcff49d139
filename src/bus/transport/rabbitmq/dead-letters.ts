import type { Connection, SyncMessage } from 'rabbitmq-client';
import type { Logger } from '../../../telemetry/index.ts';
import type { DeadLetter } from '../bus.ts';
import type { RabbitPublisher } from './publisher.ts';
import { codeOf, deadQueueName, withChannel } from './topology.ts';
import { fromWire, toEnvelopeAgain } from './wire.ts';

/** Limits a replay, so that it doesn't process its own dead letters forever. */
const MAX_LETTERS = 100_000;

/** Gets letters without acknowledging them; closing the channel requeues them in order. */
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

/** Acknowledges each letter only after the broker has confirmed its new copy. */
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
      for (let seen = 0; seen < Math.min(messageCount, MAX_LETTERS); seen += 1) {
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
