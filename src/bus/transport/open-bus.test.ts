import { expect, test } from 'vitest';
import { readBusOptions } from './open-bus.ts';

test('a bus is named by its type, and configured by known keys', () => {
  expect(readBusOptions({ type: 'memory' })).toEqual({ type: 'memory' });
  expect(
    readBusOptions({
      type: 'rabbitmq',
      url: 'amqp://h',
      queue_type: 'classic',
      publish_timeout: 5,
    }),
  ).toEqual({ type: 'rabbitmq', url: 'amqp://h', queueType: 'classic', publishTimeoutMs: 5 });
});

test('what is wrong is said with its place, and without its value', () => {
  const secret = { type: 'rabbitmq', url: 'amqp://u:hunter2@h', queue_tipe: 'quorum' };
  expect(() => readBusOptions(secret)).toThrow(/queue_tipe/);
  expect(() => readBusOptions(secret)).not.toThrow(/hunter2/);
  expect(() => readBusOptions({ type: 'rabbitmq' })).toThrow(/bus\.url/);
  expect(() => readBusOptions({ type: 'kafka' })).toThrow(/bus\.type/);
  expect(() => readBusOptions(undefined)).toThrow(/bus: /);
});
