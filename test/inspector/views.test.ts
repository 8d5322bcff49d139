import { afterAll, expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { serve } from '../../src/http/index.ts';
import {
  bakery,
  inspectedServer,
  type InspectedServer,
  inspectorToken,
} from '../../src/http/inspector/testing/inspected-server.ts';
import {
  type JsonObject,
  message,
  type SendMessageConfiguration,
} from '../../src/protocol/index.ts';
import { bodySigner, generateSigningKey, publicKeySet } from '../../src/push/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

async function send(
  server: InspectedServer,
  text: string,
  subject = '',
  configuration: SendMessageConfiguration = {},
): Promise<string> {
  const outcome = await server.serving.router.engine.send(
    { message: message(text), configuration },
    { caller: { tenant: '', subject, method: 'test' }, version: '1.0', isLocal: () => true },
  );
  return 'task' in outcome ? outcome.task.value.id : '';
}

test('tasks of all callers are listed, filtered, and each shows its timeline', async () => {
  await using server = await inspectedServer();
  await send(server, 'hello', 'alice');
  await send(server, 'fail', 'bob');
  const id = await send(server, 'stream 20');
  await using open = await openPage(server.url, { hash: '#/tasks' });
  const { page } = open;
  const rows = page.locator('.task-row');
  await expect.poll(() => rows.count()).toBe(3);
  await page.getByLabel('State').selectOption('failed');
  await expect.poll(() => rows.count()).toBe(1);
  expect(await rows.first().textContent()).toContain('bob');
  await page.getByText('show all').click();
  await expect.poll(() => rows.count()).toBe(3);
  await page.getByLabel('Words or an id').fill('alice');
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByLabel('Words or an id').fill(id);
  await expect.poll(() => rows.count()).toBe(1);
  await rows.first().click();
  await page.locator('.timeline').waitFor();
  const events = await server.serving.router.store.readEvents(id, 0, 100);
  await page.getByText(`${events.length} of ${events.length}`).waitFor();
  expect(await page.locator('.timeline .mark.bad').count()).toBe(0);

  // Back in time: the task as it was after its fifth event.
  await page.getByRole('slider', { name: 'Event' }).fill('4');
  await page.getByText('Task after event 5').waitFor();
  const soFar = await page.locator('.task-so-far').textContent();
  expect(soFar).toContain('word 1');
  expect(soFar).not.toContain('word 20');
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText(`Task after event ${events.length}`).waitFor();
});

test('a task is shown in the wire format of either version, beside its request', async () => {
  await using server = await inspectedServer();
  const id = await send(server, 'hello');
  await using open = await openPage(server.url, { hash: `#/tasks/${id}` });
  const { page } = open;
  await page.getByRole('tab', { name: 'Wire' }).click();
  const sides = page.locator('.wire-side');
  await expect.poll(() => sides.first().textContent()).toContain('ROLE_USER');
  await page.getByRole('button', { name: 'A2A 0.3' }).click();
  await expect.poll(() => sides.first().textContent()).toContain('kind: "text"');
  expect(await sides.first().textContent()).not.toContain('ROLE_USER');
  expect(await sides.last().textContent()).toContain('"submitted"');
});

test('a running task is followed, left, subscribed to again and cancelled', async () => {
  await using server = await inspectedServer();
  const id = await send(server, 'wait', 'alice', { returnImmediately: true });
  await using open = await openPage(server.url, { hash: `#/tasks/${id}` });
  const { page } = open;
  await page.getByRole('button', { name: 'Stop following' }).click();
  await page.getByRole('button', { name: 'Resubscribe' }).click();
  await page.getByRole('button', { name: 'Stop following' }).waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.locator('.task-head .badge', { hasText: 'canceled' }).waitFor();
  await expect.poll(() => page.locator('.timeline').textContent()).toContain('canceled');
  expect(await page.getByRole('button', { name: 'Cancel', exact: true }).isDisabled()).toBe(true);
});

test('on a phone, the address of a missing task leads back to the list', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url, {
    viewport: { width: 390, height: 780 },
    hash: '#/tasks/missing',
  });
  await open.page.getByText('task missing not found').waitFor();
  await open.page.getByRole('button', { name: 'Back to the list' }).click();
  await open.page.getByRole('heading', { name: 'No tasks' }).waitFor();
});

test('a new task appears without a reload, and can be sent again', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url, { hash: '#/tasks' });
  const { page } = open;
  await page.getByText('No tasks').waitFor();
  const id = await send(server, 'hello', 'alice');
  await expect.poll(() => page.locator('.task-row').count(), { timeout: 10_000 }).toBe(1);
  await page.locator('.task-row').click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.locator('.bubble').getByText('You said: hello').waitFor();
  const { records } = await server.serving.router.store.list({ limit: 10 });
  expect(records.map((record) => record.id)).toContain(id);
  expect(records).toHaveLength(2);
});

test('webhooks: dead letters are retried, and the receiver shows its calls', patient, async () => {
  let isDown = true;
  await using receiver = await startReceiver((_call, response) => {
    response.writeHead(isDown ? 503 : 204).end();
  });
  const key = generateSigningKey();
  await using server = await inspectedServer({
    push: { maxAttempts: 1, signer: bodySigner([key]) },
  });
  const url = `${receiver.url}/hook`;
  await send(server, 'hello', '', { taskPushNotificationConfig: { id: 'mine', url } });
  await using open = await openPage(server.url, { hash: '#/push' });
  const { page } = open;
  await page.getByRole('tab', { name: 'Dead letters' }).click();
  const rows = page.locator('.row');
  await expect.poll(() => rows.count(), { timeout: 10_000 }).toBeGreaterThan(0);
  expect(await rows.first().textContent()).toContain('answered 503');
  isDown = false;
  while ((await rows.count()) > 0) {
    const count = await rows.count();
    await rows.first().getByRole('button', { name: 'Retry' }).click();
    await expect.poll(() => rows.count(), { timeout: 10_000 }).toBeLessThan(count);
  }
  await page.getByText('No dead letters').waitFor();
  // Every call is reported, successful or not.
  await page.getByRole('tab', { name: 'Deliveries' }).click();
  await page.locator('.row .badge', { hasText: 'delivered' }).first().waitFor();
  await page.locator('.row .badge', { hasText: 'dead' }).first().waitFor();
  await page.getByRole('tab', { name: 'Registered' }).click();
  await page.locator('.row', { hasText: url }).waitFor();

  await page.goto(`${server.url}/inspect/#/talk`);
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByLabel('Send webhooks to the built-in receiver').check();
  await page.getByRole('button', { name: 'Connect' }).click();
  await open.say('hello');
  await page.goto(`${server.url}/inspect/#/push`);
  await page.getByRole('tab', { name: 'Receiver' }).click();
  await expect
    .poll(() => page.locator('.windowed-row').count(), { timeout: 10_000 })
    .toBeGreaterThan(1);
  await page.locator('.windowed-row').first().click();
  await page.getByText('valid signature').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByText('No calls yet').waitFor();
});

test('webhooks: pending deliveries show the last error and the next attempt', patient, async () => {
  await using receiver = await startReceiver((_call, response) => {
    response.writeHead(503).end();
  });
  await using server = await inspectedServer({ push: { backoff: { initialDelay: 3_600_000 } } });
  const id = await send(server, 'hello', 'bob', {
    taskPushNotificationConfig: { id: 'mine', url: `${receiver.url}/hook` },
  });
  await using open = await openPage(server.url, { hash: '#/push' });
  const { page } = open;
  await page.locator('.row .badge', { hasText: 'will retry' }).waitFor();
  await page.getByRole('tab', { name: 'Pending' }).click();
  const row = page.locator('.row', { hasText: '1 attempt · next at' });
  await row.waitFor();
  expect(await row.textContent()).toContain('answered 503');
  // The task leads to the same.
  await page.goto(`${server.url}/inspect/#/tasks/${id}`);
  await page.getByRole('tab', { name: 'Push' }).click();
  await page.locator('.tab-panel .row', { hasText: 'will retry' }).waitFor();
});

test('peers: cards are looked up, validated and their signatures checked', async () => {
  const key = generateSigningKey();
  await using other = await serve(bakery, { cardKeys: [key], drainMs: 0 });
  await using odd = await serve(bakery, {
    drainMs: 0,
    channels: [
      {
        name: 'odd cards',
        mount({ route }) {
          const card = { name: 'odd', supportedInterfaces: [{ url: '/x' }], skills: [{}] };
          route('GET', '/.well-known/*', ({ response }) => {
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end(JSON.stringify(card));
          });
        },
      },
    ],
  });
  await using server = await inspectedServer({}, { proxy: true });
  await using open = await openPage(server.url, { hash: '#/peers' });
  const { page } = open;
  const field = page.getByLabel('Address of an agent or of its card');
  await field.fill(other.url);
  await field.press('Enter');
  await page.getByText('no trusted key').waitFor();
  await page
    .getByLabel('Public keys that you trust, as a JWK set')
    .fill(JSON.stringify(publicKeySet([key])));
  await page.getByRole('button', { name: 'Check with these' }).click();
  await page.getByText('valid signature').waitFor();

  await field.fill(odd.url);
  await field.press('Enter');
  await expect.poll(() => page.locator('.peer-row').count()).toBe(3);
  await expect.poll(() => page.locator('.pair-detail').textContent()).toMatch(/skills\[0\]/);

  // The addresses are remembered, and nothing else.
  await page.reload();
  await expect.poll(() => page.locator('.peer-row').count()).toBe(3);
  expect(await page.evaluate(() => Object.keys(localStorage))).toEqual(['legate-inspector-agents']);
});

test('peers: trust is granted and revoked, approvals are decided', async () => {
  let trust = 'observe';
  let isWaiting = true;
  const card = await inspectedCard();
  await using server = await inspectedServer(
    {},
    {
      network: {
        levels: [
          { name: 'observe', description: 'may ask' },
          { name: 'act', description: 'may do' },
        ],
        peers: async () => [
          {
            id: 'mill',
            name: 'mill',
            address: 'https://mill.example',
            transport: 'http',
            reach: 'reachable',
            trust,
            card,
            interactions: 3,
          },
        ],
        setTrust: async (_id, { level }) => {
          trust = level;
        },
        approvals: async () =>
          isWaiting ? [{ id: 'a1', peerId: 'mill', title: 'Grind 20 kg of rye', since: 1 }] : [],
        decide: async () => {
          isWaiting = false;
        },
        calls: async () => [{ from: 'bakery', to: 'mill', count: 7, failed: 2 }],
      },
    },
  );
  await using open = await openPage(server.url, { hash: '#/peers/mill' });
  const { page } = open;
  await page.getByRole('radio', { name: /act/ }).check();
  await expect.poll(() => trust).toBe('act');
  await expect
    .poll(() => page.locator('.peer-row', { hasText: 'mill' }).textContent())
    .toContain('act');
  await page.getByRole('button', { name: 'Approve', exact: true }).first().click();
  await expect.poll(() => page.locator('.approval').count()).toBe(0);
  expect(isWaiting).toBe(false);

  await page.goto(`${server.url}/inspect/#/network`);
  await page.locator('.net-node.peer').waitFor();
  expect(await page.locator('.call.failing').count()).toBe(1);
  expect(await page.locator('.network .table').textContent()).toContain('mill');
});

async function inspectedCard(): Promise<JsonObject> {
  await using server = await serve(bakery);
  return JSON.parse(JSON.stringify(server.router.cards.current)) as JsonObject;
}

test('on a server with authentication the page asks for a credential', async () => {
  const auth = new Authenticator({
    verifiers: [
      bearerTokenVerifier({
        tokens: [{ token: 'operator-token', subject: 'olga', scopes: ['inspect'] }],
      }),
    ],
  });
  await using server = await inspectedServer({ auth });
  await using open = await openPage(server.url, { byLink: false });
  const { page } = open;
  await page.getByText('This inspector is for operators').waitFor();
  await page.getByLabel('Secret').fill('wrong');
  await page.getByRole('button', { name: 'Open inspector' }).click();
  await page.locator('.notice.bad').waitFor();
  await page.getByLabel('Secret').fill('operator-token');
  await page.getByRole('button', { name: 'Open inspector' }).click();
  await open.say('hello');
  await page.locator('.bubble').getByText('You said: hello').waitFor();
  const { records } = await server.serving.router.store.list({ limit: 1 });
  expect(records[0]?.owner).toContain('olga');
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(
    'operator-token',
  );
});

test('the link leaves no token in the address, and the page can be loaded again', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url, { hash: '#/tasks' });
  const { page } = open;
  await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
  expect(page.url()).toBe(`${server.url}/inspect/#/tasks`);
  const seen = await page.evaluate(() => [
    document.cookie,
    document.referrer,
    JSON.stringify([localStorage, sessionStorage]),
  ]);
  expect(seen).toEqual(['', '', expect.not.stringContaining(inspectorToken)]);
  await page.reload();
  await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
});

test('without its link the page explains how to get it, and accepts the token', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url, { byLink: false });
  const { page } = open;
  await page.getByText('Open the link that the server printed').waitFor();
  await page.getByLabel('Secret').fill(inspectorToken);
  await page.getByRole('button', { name: 'Open inspector' }).click();
  await open.say('hello');
  await page.locator('.bubble').getByText('You said: hello').waitFor();
});
