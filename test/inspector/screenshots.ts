/** Writes the pictures of the inspector that the documentation shows: `npm run screenshots`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { agentTool, llmAgent, tool } from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { type NetworkProvider, serve } from '../../src/http/index.ts';
import {
  bakery,
  inspectedServer,
  type InspectedServer,
  inspectorToken,
} from '../../src/http/inspector/testing/inspected-server.ts';
import { scriptedModel, startScriptedModelServer } from '../../src/models/index.ts';
import { type JsonObject, message } from '../../src/protocol/index.ts';
import { bodySigner, generateSigningKey } from '../../src/push/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { closeChromium } from '../support/chromium.ts';
import { bank, bankWithModel } from './bank.ts';
import { openPage } from './pages.ts';

const images = join(import.meta.dirname, '../../docs/images');
mkdirSync(images, { recursive: true });

const shoot = async (page: Page, name: string): Promise<void> => {
  // Notices of changes arrive within a second; waits until the page has settled.
  await page.waitForTimeout(900);
  await page.screenshot({ path: join(images, `inspector-${name}.png`) });
  console.log(`inspector-${name}.png`);
};

async function assistantViews(): Promise<void> {
  await using server = await bank();
  const talk = async (options: BrowserContextOptions, look: (page: Page) => Promise<void>) => {
    await using open = await openPage(server.url, {
      viewport: { width: 1280, height: 800 },
      ...options,
    });
    await open.say('I want to send 50 euros to Anna');
    await open.say('make it 70');
    await look(open.page);
  };
  {
    await using open = await openPage(server.url, { viewport: { width: 1280, height: 800 } });
    await open.page.locator('.choice').first().waitFor();
    await shoot(open.page, 'start');
    await open.page.keyboard.press('?');
    await shoot(open.page, 'keys');
    await open.page.keyboard.press('Escape');
    for (const text of ['I want a loan', '12000']) await open.say(text);
    await open.page.getByRole('tab', { name: 'Slots' }).click();
    await shoot(open.page, 'sub-agents');
  }
  await talk({}, async (page) => {
    await shoot(page, 'flow');
    await page.getByRole('tab', { name: 'Wire' }).click();
    await shoot(page, 'wire');
    await page.getByRole('tab', { name: 'Agent' }).click();
    await shoot(page, 'agent');
  });
  await talk({ colorScheme: 'dark' }, async (page) => {
    await shoot(page, 'flow-dark');
    await page.getByRole('tab', { name: 'Slots' }).click();
    await shoot(page, 'slots-dark');
  });
  await talk({ viewport: { width: 3840, height: 2160 } }, (page) => shoot(page, 'flow-4k'));
  await talk({ viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }, async (page) => {
    await shoot(page, 'phone-talk');
    await page.getByRole('button', { name: 'Inspect' }).click();
    await shoot(page, 'phone-flow');
    await page.goto(`${server.url}/inspect/#/tasks`);
    await page.locator('.task-row').first().click();
    await page.locator('.timeline .windowed-row').first().waitFor();
    await shoot(page, 'phone-task');
    await page.goto(`${server.url}/inspect/#/network`);
    await page.locator('.net-node').first().waitFor();
    await shoot(page, 'phone-network');
  });
}

async function modelViews(): Promise<void> {
  await using model = await startScriptedModelServer([
    'start flow transfer_money\nset slot amount 50\nset slot recipient Anna',
  ]);
  await using server = await bankWithModel(model.url);
  await using open = await openPage(server.url, { viewport: { width: 1280, height: 800 } });
  await open.say('I want to send 50 euros to Anna');
  await open.page.getByRole('tab', { name: 'Turn' }).click();
  await open.page.locator('.model-call summary').click();
  await shoot(open.page, 'turn');
}

async function stepViews(): Promise<void> {
  const calls = (name: string, input: object) => ({
    toolCalls: [{ name, input: input as never, id: `call_${name}` }],
  });
  const weather = tool({
    name: 'weather',
    description: 'Says the weather.',
    run: async () => {
      await sleep(400);
      return { sky: 'rain', degrees: 12 };
    },
  });
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsConfirmation: true,
    run: () => 'paid',
  });
  const travel = llmAgent({
    name: 'travel',
    description: 'Books trips.',
    model: scriptedModel(['Booked for Monday.']),
  });
  const model = scriptedModel([
    { ...calls('weather', { city: 'Bern' }), usage: { input: 230, output: 15 } },
    { ...calls('travel', { request: 'a trip to Bern' }), usage: { input: 268, output: 21 } },
    { ...calls('pay', { amount: 52, to: 'railway' }), usage: { input: 301, output: 18 } },
  ]);
  const clerk = llmAgent({
    name: 'clerk',
    description: 'Plans and books trips.',
    model,
    instruction: 'You are a travel clerk. Ask before you pay.',
    tools: [weather, agentTool(travel), pay],
  });
  await using server = await serve(clerk, { drainMs: 0, inspect: { token: inspectorToken } });
  const url = `http://localhost:${server.port}`;
  await using open = await openPage(url, { viewport: { width: 1440, height: 900 } });
  const { page } = open;
  await open.say('Book me a trip to Bern, please');
  await page.getByRole('tab', { name: 'Steps' }).click();
  await page.locator('.step.tool summary').first().click();
  await shoot(page, 'steps');
}

async function testViews(): Promise<void> {
  await using server = await bank();
  await server.conversations.say('kiosk-7', 'what is my balance', { channel: 'rest' });
  await using open = await openPage(server.url, { viewport: { width: 1440, height: 900 } });
  const { page } = open;
  await open.say('send 50 euros to Anna');
  await open.say('yes');
  await page.getByRole('tab', { name: 'Tests' }).click();
  await page.getByRole('button', { name: 'Run as a test' }).click();
  await page.locator('.test-result').waitFor();
  await shoot(page, 'conversations');
}

function provider(cards: { readonly mill: JsonObject }): NetworkProvider {
  const now = Date.now();
  const peers = [
    ['mill', 'Old Mill', 'https://mill.example', 'act', 'reachable', 212],
    ['dairy', 'Dairy', 'https://dairy.example', 'observe', 'reachable', 31],
    ['courier', 'Courier', 'tasks.courier', 'propose', 'unreachable', 4],
  ] as const;
  return {
    levels: [
      { name: 'observe', description: 'Its requests are logged only.' },
      { name: 'learn', description: 'Its requests are added to memory.' },
      { name: 'propose', description: 'Its requests wait for approval.' },
      { name: 'act', description: 'Approved skills run at once.' },
    ],
    peers: async () =>
      peers.map(([id, name, address, trust, reach, interactions]) => ({
        id,
        name,
        address,
        transport: id === 'courier' ? ('bus' as const) : ('http' as const),
        trust,
        reach,
        interactions,
        lastSeen: now - 60_000,
        card: { ...cards.mill, name },
        approvedSkills: trust === 'act' ? ['bake'] : [],
      })),
    setTrust: async () => {},
    approvals: async () => [
      {
        id: 'a1',
        peerId: 'courier',
        title: 'Deliver 40 loaves before noon',
        detail: 'Requested with skill deliver; costs 12 euros.',
        since: now - 120_000,
      },
    ],
    decide: async () => {},
    calls: async () => [
      { from: bakery.name, to: 'mill', count: 212, failed: 0, lastAt: now },
      { from: bakery.name, to: 'dairy', count: 31, failed: 3, lastAt: now },
      { from: bakery.name, to: 'courier', count: 4, failed: 0, lastAt: now },
    ],
  };
}

async function send(server: InspectedServer, text: string, subject: string, url?: string) {
  await server.serving.router.engine.send(
    {
      message: message(text),
      configuration: {
        returnImmediately: text === 'wait',
        ...(url !== undefined && { taskPushNotificationConfig: { id: 'orders', url } }),
      },
    },
    { caller: { tenant: '', subject, method: 'test' }, version: '1.0', isLocal: () => true },
  );
}

async function agentViews(): Promise<void> {
  const key = generateSigningKey();
  await using other = await serve(bakery, { cardKeys: [key], drainMs: 0 });
  const mill = JSON.parse(JSON.stringify(other.router.cards.current)) as JsonObject;
  await using broken = await startReceiver((_call, response) => void response.writeHead(503).end());
  await using server = await inspectedServer(
    { cardKeys: [key], push: { maxAttempts: 1, signer: bodySigner([key]) } },
    { proxy: true, network: provider({ mill }), version: '0.1.0' },
  );
  for (const subject of ['alice', 'bob', 'shop.example']) {
    for (const text of ['report', 'stream 40', 'order', 'fail', 'form']) {
      await send(server, text, subject);
    }
  }
  await send(server, 'wait', 'alice');
  await send(server, 'order', 'bob', `${broken.url}/orders`);
  await using open = await openPage(server.url, { viewport: { width: 1280, height: 800 } });
  const { page } = open;
  const go = async (hash: string): Promise<void> => {
    await page.goto(`${server.url}/inspect/#/${hash}`);
    await page.locator('h1').waitFor();
  };
  await open.say('report');
  await page.getByRole('button', { name: 'Inspect' }).click();
  await page.getByRole('button', { name: 'New conversation' }).click();
  const second = page.locator('.talk').last();
  await second.locator('.composer-text').fill('form');
  await second.locator('.composer-text').press('Enter');
  await second.locator('.reply-form').waitFor();
  await second.getByLabel('Guests').fill('4');
  await shoot(page, 'side-by-side');
  await second.getByRole('button', { name: /^Agent: / }).click();
  await page
    .getByRole('combobox', { name: 'Agent', exact: true })
    .selectOption({ label: 'Another agent, by its address' });
  await page.getByLabel('Address of the agent').fill(other.url);
  await page.getByLabel('Credential').selectOption({ label: 'API key' });
  await shoot(page, 'any-agent');
  await page.getByLabel('Send webhooks to the built-in receiver').check();
  await page
    .getByRole('combobox', { name: 'Agent', exact: true })
    .selectOption({ label: 'bakery (this server)' });
  await page.getByRole('button', { name: 'Connect' }).click();
  await second.locator('.composer-text').fill('stream 5');
  await second.locator('.composer-text').press('Enter');
  await second.locator('.turn-foot').first().waitFor();

  await go('tasks');
  await page.locator('.task-row', { hasText: 'stream 40' }).first().click();
  await page.getByText(/^(\d+) of \1$/).waitFor();
  await page.getByRole('slider', { name: 'Event' }).fill('24');
  await shoot(page, 'tasks');
  await page.getByRole('tab', { name: 'Wire' }).click();
  await shoot(page, 'task-wire');
  await go('push');
  await page.locator('.row').first().waitFor();
  await shoot(page, 'push-deliveries');
  await page.getByRole('tab', { name: 'Dead letters' }).click();
  await shoot(page, 'push');
  await page.getByRole('tab', { name: 'Registered' }).click();
  await shoot(page, 'push-registered');
  await page.getByRole('tab', { name: 'Receiver' }).click();
  await page.locator('.windowed-row').nth(1).click();
  await shoot(page, 'receiver');
  await go('peers/mill');
  await page.locator('.trust').waitFor();
  await shoot(page, 'peers');
  await go('network');
  await shoot(page, 'network');
}

async function pendingDeliveries(): Promise<void> {
  await using broken = await startReceiver((_call, response) => void response.writeHead(503).end());
  await using server = await inspectedServer({ push: { backoff: { initialDelay: 60_000 } } });
  await send(server, 'order', 'bob', `${broken.url}/orders`);
  const viewport = { width: 1280, height: 800 };
  await using open = await openPage(server.url, { viewport, hash: '#/push' });
  await open.page.getByRole('tab', { name: 'Pending' }).click();
  await open.page.locator('.row').first().waitFor();
  await shoot(open.page, 'push-pending');
}

async function accessForm(): Promise<void> {
  const tokens = [{ token: 'secret', subject: 'olga', scopes: ['inspect'] }];
  const auth = new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] });
  await using server = await inspectedServer({ auth });
  await using open = await openPage(server.url, {
    viewport: { width: 1280, height: 800 },
    byLink: false,
  });
  await open.page.getByText('This inspector is for operators').waitFor();
  await shoot(open.page, 'access');
}

await assistantViews();
await modelViews();
await stepViews();
await testViews();
await agentViews();
await pendingDeliveries();
await accessForm();
await closeChromium();
