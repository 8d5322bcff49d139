import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LegateError } from '../../protocol/index.ts';
import {
  cancelQueue,
  discoveryQueue,
  ownCancelQueue,
  ownResponseQueue,
  responseQueue,
  statusQueue,
  taskQueue,
  isResponseTopic,
  topics,
} from './topics.ts';
import { checkTopic, isBusName } from './checks.ts';

test('the topics are those of the protocol', () => {
  expect(topics.task('echo')).toBe('agent.task.echo');
  expect(topics.cancel('echo')).toBe('agent.task.cancel.echo');
  expect(topics.response('me')).toBe('agent.response.me');
  expect(topics.status).toBe('agent.task.status');
  expect(topics.discovery).toBe('discovery.announce');
});

test('a name that would reach beyond its own topic is refused, with what to use instead', () => {
  for (const name of [
    '',
    '#',
    '*',
    'a.b',
    'cancel.echo',
    'a b',
    '-a',
    'a\n',
    'ä',
    'x'.repeat(101),
  ]) {
    expect(() => topics.task(name)).toThrow(LegateError);
    expect(() => topics.cancel(name)).toThrow(LegateError);
    expect(() => topics.response(name)).toThrow(/letters, digits/);
    expect(() => taskQueue(name)).toThrow(LegateError);
    expect(() => responseQueue(name)).toThrow(LegateError);
    expect(() => ownResponseQueue(name)).toThrow(LegateError);
  }
});

test('whatever the name, a topic made of it has exactly one word more and no wildcard', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (name) => {
      let topic: string;
      try {
        topic = topics.response(name);
      } catch (error) {
        expect(error).toBeInstanceOf(LegateError);
        expect(isBusName(name)).toBe(false);
        return;
      }
      expect(topic.split('.')).toHaveLength(3);
      expect(topic).not.toMatch(/[#*]/);
      expect(checkTopic(topic)).toBe(topic);
    }),
  );
});

test('only a response topic may be answered to', () => {
  // The last two are RockBot's.
  for (const topic of ['agent.response.me', 'agent.response', 'agent.response.gateway.me']) {
    expect(isResponseTopic(topic)).toBe(true);
  }
  for (const topic of [undefined, '', 'agent.responses', 'agent.response.', 'agent.response.a.b']) {
    expect(isResponseTopic(topic)).toBe(false);
  }
  // RockBot's gateway does not restrict the ids of its callers.
  for (const id of ['alice', 'ada@example.com', 'auth0|7', 'a b', '#', 'ä']) {
    expect(isResponseTopic(`agent.response.gateway.${id}`)).toBe(true);
  }
  for (const id of ['', 'a\nb', 'a\0', '\ud800', 'ä'.repeat(120)]) {
    expect(isResponseTopic(`agent.response.gateway.${id}`)).toBe(false);
  }
  for (const topic of ['agent.task.echo', 'discovery.announce', 'agent.response.#', 'amq.gen']) {
    expect(isResponseTopic(topic)).toBe(false);
  }
});

test('queues of one process go with it and do not grow without end; those of agents and callers stay', () => {
  const own = [
    ownCancelQueue('echo', 'replica'),
    ownResponseQueue('me-1'),
    discoveryQueue('me-1'),
    statusQueue('me-1'),
  ];
  for (const { exclusive, expiresAfterMs, messageTtlMs, deadLetters } of own) {
    if (exclusive !== true) expect(expiresAfterMs).toBeLessThanOrEqual(120_000);
    expect(messageTtlMs).toBeLessThanOrEqual(3_600_000);
    expect(deadLetters).toBe(false);
  }
  for (const { expiresAfterMs } of [taskQueue('echo'), cancelQueue('echo')]) {
    expect(expiresAfterMs).toBe(undefined);
  }
  expect(responseQueue('me').expiresAfterMs).toBeGreaterThan(86_400_000);
});
