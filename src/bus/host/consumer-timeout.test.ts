/** What a worker says about the broker's limit on unacknowledged tasks. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { agent } from '../../agents/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { nameOf } from '../testing.contract.ts';
import type { BusDialect } from '../transport/bus.ts';
import { openBus } from '../transport/open-bus.ts';
import { declareAgentQueue, hostOnBus } from './host.ts';

interface Given {
  readonly version: string;
  readonly dialect?: BusDialect;
  /** The queue was made by a former version or configuration. */
  readonly isFormer?: boolean;
  readonly store?: Store;
  readonly once?: boolean;
}

/** Starts a worker on a broker that says it is of a version; returns the reasons of its warnings. */
async function reasons({
  version,
  dialect = 'legate',
  isFormer = false,
  store = openMemory(),
  once = false,
}: Given): Promise<readonly string[]> {
  const found: string[] = [];
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn(fields, event) {
      if (event !== 'bus.consumer_timeout.unknown') return;
      expect(fields).toMatchObject({ broker: version, fix: expect.stringContaining('PostgreSQL') });
      found.push(String('reason' in fields && fields.reason));
    },
    error: () => undefined,
    child: () => logger,
  };
  const { url } = await rabbitMq();
  const place = { type: 'rabbitmq', url, exchange: nameOf('timeout'), dialect } as const;
  const bus = await openBus(place);
  onTestFinished(() => bus.close());
  vi.spyOn(bus, 'brokerVersion', 'get').mockReturnValue(version);
  const name = nameOf('slow');
  if (isFormer) {
    await using before = await openBus(place);
    // Brokers that don't know x-consumer-timeout don't compare it.
    await declareAgentQueue(before, name, { maxMessages: 7 });
  }
  const slow = agent({ name }, () => 'done');
  const host = await hostOnBus(slow, { bus, store, logger, once, announces: false });
  await host.close();
  return found;
}

const [shared] = openMemoryReplicas(2);

test.each<[string, Given, readonly unknown[]]>([
  ['a broker with a limit for each queue', { version: '3.13.7' }, []],
  ['a broker of version 4', { version: '4.1.0' }, []],
  [
    'an old broker',
    { version: '3.10.8' },
    [expect.stringContaining('before 3.12 has no limit for each queue')],
  ],
  [
    "a queue with RockBot's arguments",
    { version: '3.13.7', dialect: 'rockbot' },
    [expect.stringContaining("RockBot's arguments")],
  ],
  [
    'a queue with former arguments',
    { version: '3.13.7', isFormer: true },
    [expect.stringContaining('exists with other arguments')],
  ],
  [
    'an old broker and a queue with former arguments, once',
    { version: '3.10.8', isFormer: true },
    [expect.stringContaining('before 3.12')],
  ],
  ['a shared store', { version: '3.10.8', isFormer: true, ...(shared && { store: shared }) }, []],
  [
    'a shared store and one task',
    { version: '3.10.8', once: true, ...(shared && { store: shared }) },
    [expect.stringContaining('before 3.12')],
  ],
])('the warnings for %s', { timeout: 180_000 }, async (_, given, expected) => {
  expect(await reasons(given)).toEqual(expected);
});
