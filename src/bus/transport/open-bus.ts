import type { Bus } from './bus.ts';
import type { MemoryBusOptions } from './memory/memory-bus.ts';
import type { RabbitBusOptions } from './rabbitmq/rabbit-bus.ts';
import { TracedBus } from './traced-bus.ts';

/**
 * Which bus to open.
 * @example const options: BusOptions = { type: 'rabbitmq', url: 'amqps://broker.example/agents' };
 */
export type BusOptions =
  | ({ readonly type: 'memory' } & MemoryBusOptions)
  | ({ readonly type: 'rabbitmq' } & RabbitBusOptions);

/**
 * Opens a bus. The library of a broker is loaded when it is asked for.
 * @example await using bus = await openBus({ type: 'rabbitmq', url: 'amqp://localhost' })
 */
export async function openBus(options: BusOptions): Promise<Bus> {
  switch (options.type) {
    case 'memory': {
      const { MemoryBus } = await import('./memory/memory-bus.ts');
      return new TracedBus(new MemoryBus(options));
    }
    case 'rabbitmq': {
      const { RabbitBus } = await import('./rabbitmq/rabbit-bus.ts');
      return new TracedBus(await RabbitBus.open(options));
    }
  }
}
