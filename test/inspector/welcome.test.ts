import { afterAll, expect, test } from 'vitest';
import { closeChromium } from '../support/chromium.ts';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { greenhouseFolder } from '../support/greenhouse.ts';
import { bank } from './bank.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

test(
  'a conversation with an assistant opens with its welcome, once, and its buttons',
  patient,
  async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    const welcome = page.getByRole('article', { name: 'Welcome' });
    await welcome.getByText('Welcome to Harbour Bank.').waitFor();
    expect(await welcome.locator('.choice').allTextContents()).toEqual([
      'Send money',
      'Show my balance',
      'Freeze a card',
    ]);
    await welcome.getByRole('button', { name: 'Send money' }).click();
    await page.locator('.turn').getByText('Who is the money for?').waitFor();
    expect(await page.locator('.turn .bubble.own').allTextContents()).toEqual(['Send money']);
    expect(await welcome.locator('.choice').first().isDisabled()).toBe(true);

    const id = (await page.locator('.talk-context code').getAttribute('title')) ?? '';
    const { events } = (await server.conversations.tracker(id)) as {
      readonly events: readonly { readonly event: string; readonly text?: string }[];
    };
    expect(events.filter(({ event }) => event === 'session_started')).toHaveLength(1);
    expect(events.flatMap(({ event, text }) => (event === 'user' ? [text] : []))).toEqual([
      '/session_start',
      'I want to send money',
    ]);
  },
);

test('a new session is welcomed again; a continued conversation is not', patient, async () => {
  await using server = await bank();
  await server.conversations.say('ada', 'send money', { channel: 'rest' });
  await using open = await openPage(server.url);
  const { page } = open;
  const context = page.locator('.talk-context code');
  await page.locator('.welcome .bubble').waitFor();
  const first = await context.getAttribute('title');
  await open.say('hi');
  await page.locator('.turn').getByText("I'm the assistant of Harbour Bank").waitFor();
  await page.getByRole('button', { name: 'New session' }).click();
  await page.locator('.welcome .bubble').waitFor();
  await expect.poll(() => page.locator('.turn').count()).toBe(0);
  expect(await context.getAttribute('title')).not.toBe(first);

  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByLabel('Context to continue').fill('ada');
  await page.getByRole('button', { name: 'Connect' }).click();
  await expect.poll(() => page.locator('.welcome').count()).toBe(0);
  await open.say('Ann');
  await page.locator('.turn').getByText('How much should I send?').waitFor();
});

test(
  'the first message waits for an assistant whose session start sends no message',
  patient,
  async () => {
    const silent = 'flows: {pattern_session_start: {steps: [{action: action_session_start}]}}\n';
    await using folder = await greenhouseFolder({ 'data/patterns.yml': silent });
    await using server = await bank({ places: { directory: folder.directory } });
    await using open = await openPage(server.url);
    await open.page.getByRole('heading', { name: 'Send a message' }).waitFor();
    await open.say('water the Monstera');
    await open.page.locator('.turn').getByText('How many litres?').waitFor();
  },
);

test(
  'an agent that is not an assistant receives nothing when its page opens',
  patient,
  async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url);
    await open.page.getByRole('heading', { name: 'Send a message' }).waitFor();
    await open.say('report');
    expect((await server.serving.router.store.list({ limit: 10 })).records).toHaveLength(1);
  },
);
