import { expect, test } from 'vitest';
import { openBus } from '../open-bus.ts';
import { brokerQueues } from './management.ts';

const badUser = 'amqp://5%user:password@localhost';
const badPassword = 'amqp://user:50%off@localhost';
const badVhost = 'amqp://user:password@localhost/50%off';

test.each([
  ['user', badUser],
  ['password', badPassword],
  ['virtual host', badVhost],
])('a %s that is not percent-encoded is refused at once', async (what, url) => {
  const refused = {
    code: 'CONFIGURATION_INVALID',
    message: expect.stringMatching(new RegExp(`^the ${what} .*percent-encode special characters`)),
  };
  await expect(openBus({ type: 'rabbitmq', url })).rejects.toMatchObject(refused);
  await expect(brokerQueues({ url })).rejects.toMatchObject(refused);
});

test('the error does not contain the password', async () => {
  await expect(openBus({ type: 'rabbitmq', url: badPassword })).rejects.not.toThrow(/off/);
});
