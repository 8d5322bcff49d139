import type { Directory } from '../../peers/index.ts';
import { LegateError, parseJson } from '../../protocol/index.ts';
import { type Logger, LogSummary, silentLogger } from '../../telemetry/index.ts';
import { headerNames, type Identification, identify, readPresence } from '../exchange/index.ts';
import { type Bus, type Consumption, discoveryQueue, done } from '../transport/index.ts';

/**
 * Who is told of announcements.
 * @example const options: DiscoveryOptions = { bus, directory, listener: 'desk-7f3a', verifier };
 */
export interface DiscoveryOptions extends Identification {
  readonly bus: Bus;
  readonly directory: Directory;
  /** Of this process alone: each process hears every announcement. */
  readonly listener: string;
  readonly logger?: Logger;
}

/**
 * Lets the directory hear who announces itself on the bus.
 * @example
 * await using listening = await listenForAgents({ bus, directory, listener: crypto.randomUUID() });
 */
export function listenForAgents(options: DiscoveryOptions): Promise<Consumption> {
  const { bus, directory, listener, logger = silentLogger } = options;
  const refusalLogger = new LogSummary(logger, 'count');
  return bus.consume(
    discoveryQueue(listener),
    async (delivery) => {
      try {
        const { method, subject } = await identify(delivery, options);
        const isProved = method === 'message-token';
        const { isGone, at } = readPresence(delivery.correlationId, delivery.headers);
        await directory.announced({
          card: parseJson(delivery.body),
          // Of those who prove what they say, this has to be proved too.
          isGone: isGone && !(isProved && at === undefined),
          sender: isProved ? subject : undefined,
          ...(isProved && at !== undefined && { at }),
        });
      } catch (error) {
        // Whatever is announced wrongly, what is known stays.
        if (!(error instanceof LegateError) || error.code === 'STORE_FAILED') throw error;
        const from = delivery.headers[headerNames.from];
        refusalLogger.warn({ from, reason: error.message }, 'bus.announcement.refused');
      }
      return done;
    },
    // In order, so that nobody comes back after it has gone.
    { prefetch: 20, concurrency: 1 },
  );
}
