export * from './bus.ts';
export { readBusOptions } from './bus-config.ts';
export { openBus, type BusOptions } from './open-bus.ts';
export type { MemoryBusOptions } from './memory/memory-bus.ts';
export type { RabbitBusOptions } from './rabbitmq/rabbit-bus.ts';
export { checkBusName, checkTopic, isBusName, isResponseTopic, topics } from './topics.ts';
export {
  type AgentQueueOptions,
  cancelQueue,
  discoveryQueue,
  ownCancelQueue,
  ownResponseQueue,
  responseQueue,
  statusQueue,
  taskQueue,
  taskQueueName,
} from './queues.ts';
