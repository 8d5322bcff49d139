import { expect, test } from 'vitest';
import { checkUrl } from '../push/index.ts';
import { startReceiver } from '../push/receiver.contract.ts';
import { pushPolicy } from './gateway.ts';
import { busFolder, slow } from './testing.contract.ts';

const isAllowed = (url: string, hosts: readonly string[]): boolean => {
  try {
    checkUrl(url, pushPolicy(hosts));
    return true;
  } catch {
    return false;
  }
};

test.each([
  ['http://hooks.shop.svc.cluster.local/a', true],
  ['https://hooks.shop.svc.cluster.local/a', true],
  ['http://HOOKS.shop.svc.cluster.local:8080/a', true],
  ['http://10.0.0.7/a', true],
  ['http://localhost:9000/a', true],
  ['http://[fd00::7]/a', true],
  ['https://hooks.example.com/a', true],
  // Names that are not listed, however near.
  ['http://x.hooks.shop.svc.cluster.local/a', false],
  ['http://shop.svc.cluster.local/a', false],
  ['http://10.0.0.8/a', false],
  ['http://127.0.0.1:9000/a', false],
  ['http://[::1]:9000/a', false],
  ['http://a.localhost/a', false],
  ['https://sub.hooks.example.com/a', false],
  ['https://example.com/a', false],
  ['http://169.254.169.254/a', false],
  // Services that do not speak HTTP stay out of reach.
  ['http://localhost:25/a', false],
])('--push-hosts opens exactly the names it lists: %s is allowed: %s', (url, expected) => {
  const hosts = [
    'hooks.shop.svc.cluster.local',
    '10.0.0.7',
    'LOCALHOST',
    '[fd00::7]',
    'hooks.example.com',
  ];
  expect(isAllowed(url, hosts)).toBe(expected);
});

test('* is for all public hosts, and adds none of the network', () => {
  expect(isAllowed('https://anything.example.com/a', ['*'])).toBe(true);
  expect(isAllowed('http://10.0.0.7/a', ['*'])).toBe(false);
  expect(isAllowed('http://localhost/a', ['*'])).toBe(false);
  expect(isAllowed('http://10.0.0.7/a', ['*', '10.0.0.7'])).toBe(true);
  expect(isAllowed('https://anything.example.com/a', ['*', '10.0.0.7'])).toBe(true);
});

test.each(['http://hooks', 'hooks:80', 'hooks/a', '*.example.com', 'a b', '', 'a..b', '[::1'])(
  '--push-hosts %j is refused at the start',
  (host) => {
    expect(() => pushPolicy([host])).toThrow('--push-hosts');
  },
);

test(
  'push: of endpoints.yml: webhooks reach an allowed name inside, and nothing else inside',
  slow,
  async () => {
    await using receiver = await startReceiver();
    await using folder = await busFolder({
      'endpoints.yml': 'push: {allowed_names: [localhost]}\n',
    });
    await using running = folder.start(['run', 'agent.ts', '-p', '0']);
    await running.says(/http:\/\/\S+:\d+/);
    const url = /http:\/\/[^\s/]+:\d+/.exec(running.out() + running.err())?.[0] ?? '';
    const send = async (hook: string) => {
      const response = await fetch(`${url}/message:send`, {
        method: 'POST',
        headers: { 'a2a-version': '1.0', 'content-type': 'application/json' },
        body: JSON.stringify({
          message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }] },
          configuration: { taskPushNotificationConfig: { url: hook } },
        }),
      });
      return { status: response.status, text: await response.text() };
    };
    const delivered = await send(`http://localhost:${receiver.port}/hook`);
    expect(delivered.text).toContain('TASK_STATE_COMPLETED');
    await expect
      .poll(() => receiver.calls.map(({ body }) => body).join('\n'), { timeout: 20_000 })
      .toContain('TASK_STATE_COMPLETED');
    const before = receiver.connections();
    for (const [hook, reason] of [
      // The same place in another spelling is not the allowed name.
      [`http://127.0.0.1:${receiver.port}/hook`, 'is on the loopback network'],
      [`http://[::1]:${receiver.port}/hook`, 'is on the loopback network'],
      ['http://10.0.0.7/hook', 'is on a private network'],
      ['http://169.254.169.254/latest/meta-data', 'never allowed'],
    ] as const) {
      const refused = await send(hook);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(reason)]);
    }
    expect(receiver.connections()).toBe(before);
    expect((await running.stop()).code).toBe(0);
  },
);
