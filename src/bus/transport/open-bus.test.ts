import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../test/certificate.ts';
import { temporaryDirectory } from '../../../test/support/stores.ts';
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

test('certificates are read from files beside the configuration, and limits of queues are taken on', async () => {
  await using directory = await temporaryDirectory();
  const { certificate } = makeCertificate({ commonName: 'Authority', isAuthority: true });
  await writeFile(join(directory.path, 'ca.pem'), certificate);
  const section = {
    type: 'rabbitmq',
    url: 'amqps://h',
    hosts: ['one:5671', 'two'],
    vhost: 'agents',
    ca: 'ca.pem',
    heartbeat: 20,
    frame_max: 131_072,
    declare: false,
    queues: { max_messages: 5, retry_delays: [100], dead_letter_ttl: 1_000, reply_expiry: 9 },
  };
  const options = readBusOptions(section, { directory: directory.path });
  expect(options).toEqual({
    type: 'rabbitmq',
    url: 'amqps://h',
    hosts: ['one:5671', 'two'],
    vhost: 'agents',
    tls: expect.objectContaining({ last: { ca: certificate } }) as object,
    heartbeat: 20,
    frameMax: 131_072,
    declares: false,
    queues: {
      maxMessages: 5,
      retryDelaysMs: [100],
      replyExpiresAfterMs: 9,
      deadLetters: { ttlMs: 1_000 },
    },
  });
  expect(() => readBusOptions({ ...section, ca: 'no.pem' })).toThrow(/bus\.ca.*no\.pem/);
  expect(() => readBusOptions({ ...section, key: 'own.key' })).toThrow(/bus\.key.*set bus\.cert/);
  expect(() => readBusOptions({ ...section, auth: 'magic' })).toThrow(/bus\.auth/);
});
