import { expect, test } from 'vitest';
import { message } from '../../protocol/index.ts';
import { bodySigner, generateSigningKey } from '../../push/index.ts';
import { startReceiver } from '../../push/receiver.contract.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import type { AttemptView, DeliveryView, PushConfigView, ReceivedCall } from './model.ts';
import { inspectedServer } from './testing/inspected-server.ts';
import { callers, post } from './testing/requests.ts';

test('webhooks: registrations without secrets, dead letters and their retry', async () => {
  let isDown = true;
  await using receiver = await startReceiver((_call, response) => {
    response.writeHead(isDown ? 500 : 204).end();
  });
  const actions: object[] = [];
  const info: Logger['info'] = (fields, event) => void actions.push({ ...fields, event });
  const logger: Logger = { ...silentLogger, info };
  await using server = await inspectedServer({ push: { maxAttempts: 1 }, logger });
  const { engine } = server.serving.router;
  const url = `${receiver.url}/hook`;
  await engine.send(
    {
      message: message('hello'),
      configuration: {
        taskPushNotificationConfig: {
          id: 'mine',
          url,
          token: 'secret-token',
          authentication: { scheme: 'Bearer', credentials: 'secret-credentials' },
        },
      },
    },
    { caller: callers.subject('alice'), version: '1.0', isLocal: () => true },
  );
  await expect
    .poll(() => server.get<readonly DeliveryView[]>('push/deliveries?state=dead'))
    .not.toHaveLength(0);
  const configs = await server.get<readonly PushConfigView[]>('push/configs');
  expect(configs).toMatchObject([{ config: { id: 'mine', url }, wireVersion: '1.0' }]);
  expect(JSON.stringify(configs)).not.toContain('secret');
  const dead = await server.get<readonly DeliveryView[]>('push/deliveries?state=dead');
  expect(dead[0]).toMatchObject({ url, attempts: 1, lastError: 'answered 500' });
  expect(JSON.stringify(dead)).not.toContain('secret');

  isDown = false;
  for (const { id } of dead) {
    expect((await server.api(`push/deliveries/${id}/retry`, post())).status).toBe(200);
  }
  await expect.poll(() => server.get('push/deliveries')).toEqual([]);
  expect((await server.api(`push/deliveries/${dead[0]?.id}/retry`, post())).status).toBe(404);
  // What succeeded is told as well, though the store keeps nothing of it.
  const attempts = await server.get<readonly AttemptView[]>('push/attempts');
  expect(attempts.find(({ outcome }) => outcome === 'delivered')).toMatchObject({
    url,
    attempt: 1,
  });
  expect(attempts.find(({ outcome }) => outcome === 'dead')).toMatchObject({
    error: 'answered 500',
  });
  expect(JSON.stringify(attempts)).not.toContain('secret');
  expect(await server.get('push/attempts?task=none')).toEqual([]);
  const revived = { audit: 'action', event: 'audit.push.revived', deliveryId: dead[0]?.id };
  expect(actions).toContainEqual(expect.objectContaining(revived));
});

test('the built-in receiver keeps calls, verifies signatures and redacts secrets', async () => {
  const key = generateSigningKey();
  await using server = await inspectedServer({ push: { signer: bodySigner([key]) } });
  const { receiverKey } = await server.get<{ receiverKey: string }>('about');
  const url = `${server.url}/inspect/hook/${receiverKey}`;
  await server.serving.router.engine.send(
    { message: message('hello'), configuration: { taskPushNotificationConfig: { url } } },
    { caller: callers.subject(''), version: '1.0', isLocal: () => true },
  );
  await expect.poll(() => server.get<readonly ReceivedCall[]>('receiver')).not.toHaveLength(0);
  const calls = await server.get<readonly ReceivedCall[]>('receiver');
  expect(calls[0]).toMatchObject({ number: 1, signature: 'valid', isCut: false });
  expect(JSON.parse(calls[0]?.body ?? '')).toHaveProperty('task');

  // All webhooks of the task have arrived: the next call is the last one.
  await expect.poll(() => server.get('push/deliveries')).toEqual([]);
  await fetch(url, { ...post({ odd: true }), headers: { authorization: 'Bearer abc' } });
  const last = (await server.get<readonly ReceivedCall[]>('receiver')).at(-1);
  expect(last).toMatchObject({ signature: 'none', headers: { authorization: '[redacted]' } });
  await fetch(url, { ...post({}), headers: { 'x-a2a-signature': 'a..b' } });
  expect((await server.get<readonly ReceivedCall[]>('receiver')).at(-1)?.signature).toBe('invalid');

  expect((await fetch(`${server.url}/inspect/hook/guess`, post())).status).not.toBe(204);
  expect((await fetch(url)).status).toBe(405);
  await server.api('receiver', { method: 'DELETE' });
  expect(await server.get('receiver')).toEqual([]);
});

test('the receiver keeps the latest calls only, with truncated bodies', async () => {
  await using server = await inspectedServer({}, { receiverLimit: 3 });
  const { receiverKey } = await server.get<{ receiverKey: string }>('about');
  const url = `${server.url}/inspect/hook/${receiverKey}`;
  for (let index = 0; index < 5; index += 1) await fetch(url, post({ index }));
  const calls = await server.get<readonly ReceivedCall[]>('receiver');
  expect(calls.map(({ number }) => number)).toEqual([3, 4, 5]);
  await fetch(url, post({ long: 'x'.repeat(300_000) }));
  const cut = (await server.get<readonly ReceivedCall[]>('receiver')).at(-1);
  expect(cut?.isCut).toBe(true);
  expect(cut?.body.length).toBe(256 * 1024);
});
