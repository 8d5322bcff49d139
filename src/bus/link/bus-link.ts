import { createHash } from 'node:crypto';
import type { Directory, PeerLink } from '../../peers/index.ts';
import { Json, type JsonValue, LegateError, parseJson } from '../../protocol/index.ts';
import type { RecordStore, Store } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import { type Logger, LogSummary } from '../../telemetry/index.ts';
import { headerNames, readPresence } from '../exchange/payloads.ts';
import { type Identification, identify } from '../exchange/sender.ts';
import type { MessageSigner } from '../identity/signer.ts';
import { type Bus, type Consumption, done, type Queue } from '../transport/bus.ts';
import { discoveryQueue, ownResponseQueue, responseQueue } from '../transport/topics.ts';
import { BusTransport } from './bus-transport.ts';

/**
 * The bus, and who we are on it.
 * @example const options: BusLinkOptions = { bus, ...(await readBusIdentity(section, { directory, issuer })) };
 */
export interface BusLinkOptions extends Identification {
  readonly bus: Bus;
  /** Signs what is sent. */
  readonly signer?: MessageSigner;
}

/**
 * Peers on the bus, for `joinPeers`.
 * @example
 * await using bus = await openBus({ type: 'rabbitmq', url });
 * await using network = await joinPeers({ name: 'me', store, links: [busLink({ bus })] });
 */
export function busLink(options: BusLinkOptions): PeerLink {
  return {
    async join({ name, store, directory, isShortLived, scheduler, logger }) {
      const replies = isShortLived
        ? ownResponseQueue(`${name.slice(0, 60)}-${scheduler.uuid()}`)
        : await lastingReplies(name, store, scheduler);
      return {
        transport: new BusTransport({ ...options, name, directory, logger, replies }),
        discover: () => listenForAgents(options, directory, scheduler.uuid(), logger),
      };
    },
  };
}

/**
 * Lets the directory hear who announces itself on the bus. `listener`: of this process alone, since
 * each process hears every announcement.
 */
function listenForAgents(
  options: BusLinkOptions,
  directory: Directory,
  listener: string,
  logger: Logger,
): Promise<Consumption> {
  const refusalLogger = new LogSummary(logger, 'count');
  return options.bus.consume(
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

const hour = 60 * 60 * 1000;

/** Answers wait for the store that knows what they answer; one in memory is soon gone. */
async function lastingReplies(name: string, store: Store, scheduler: Scheduler): Promise<Queue> {
  const own = await replyName(name, store.records, scheduler);
  return responseQueue(own, store.driver === 'memory' ? { expiresAfterMs: hour } : {});
}

/**
 * The name under which an agent takes answers: its own, and the identity of the store that knows what
 * is answered. A process on the same store finds the answers of the one before it; two stores never
 * share a queue, whatever their agents are called.
 */
export async function replyName(
  name: string,
  records: RecordStore,
  scheduler: Scheduler,
): Promise<string> {
  return `${shortened(name)}-${await storeId(records, scheduler)}`;
}

const place = { space: 'bus', key: 'store-id' } as const;

/** Created on first use, and kept as long as the store. */
async function storeId(records: RecordStore, scheduler: Scheduler): Promise<string> {
  const now = scheduler.now();
  const value = Json.of<JsonValue>(scheduler.uuid());
  await records.write([{ ...place, value, ifVersion: 0 }], now);
  const stored = await records.get(place.space, place.key, now);
  if (typeof stored?.value.value === 'string') return stored.value.value;
  throw new LegateError('STORE_FAILED', 'the identity of the store cannot be read');
}

/** With a UUID behind it, it is still a name on the bus. */
const maxNameLength = 63;

/** Names that begin alike stay apart. */
function shortened(name: string): string {
  if (name.length <= maxNameLength) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 12);
  return `${name.slice(0, maxNameLength - 13)}-${digest}`;
}
