import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { message } from '../../src/protocol/index.ts';
import { closeChromium } from '../support/chromium.ts';
import { bank } from './bank.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

const titles = (page: Page): Promise<string[]> =>
  page.locator('.talk-list .task-row-title').allTextContents();

async function openList(page: Page): Promise<void> {
  if ((await page.locator('.talk-list').count()) === 0) {
    await page.getByRole('button', { name: 'Conversations', exact: true }).click();
  }
  await page.getByRole('searchbox', { name: 'Search conversations' }).waitFor();
}

/** The messages of a conversation column, in order. */
const said = (page: Page, column = 0): Promise<string[]> =>
  page.locator('.talk').nth(column).locator('.turn .bubble.own').allTextContents();

describe('the list of conversations', () => {
  test('has all channels, is searched by words, and opens a conversation', patient, async () => {
    await using server = await bank();
    await server.conversations.say('kiosk-7', 'what is my balance', { channel: 'rest' });
    const client = await connect(server.url);
    await client.sendMessage({ message: message('freeze my card') });
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('send 50 euros to Anna');
    await openList(page);
    await expect
      .poll(() => titles(page))
      .toEqual(['send 50 euros to Anna', 'freeze my card', 'what is my balance']);
    expect(await page.locator('.talk-list .task-row .badge:not(.state)').allTextContents()).toEqual(
      expect.arrayContaining(['inspector', 'a2a', 'rest']),
    );

    const search = page.getByRole('searchbox', { name: 'Search conversations' });
    await search.fill('freeze my');
    await expect.poll(() => titles(page)).toEqual(['freeze my card']);
    await search.fill('kiosk');
    await expect.poll(() => titles(page)).toEqual(['what is my balance']);
    await search.fill('unheard of');
    await page.getByRole('heading', { name: 'No matches' }).waitFor();
    await search.fill('balance');
    await page.locator('.talk-list .windowed-row', { hasText: 'what is my balance' }).click();
    await expect.poll(() => said(page)).toEqual(['what is my balance']);
    await page.locator('.turn .bubble.agent').first().waitFor();
    expect(await page.evaluate(() => location.hash)).toBe('#/talk/kiosk-7');

    // It continues where the other channel left it.
    await open.say('freeze my card');
    await expect.poll(() => said(page)).toEqual(['what is my balance', 'freeze my card']);
  });

  test('names and finds a long conversation by what was said first', patient, async () => {
    await using server = await bank();
    await server.conversations.say('kiosk-7', 'what is my zebra balance', { channel: 'rest' });
    // More than the transcript keeps.
    for (let count = 0; count < 16; count += 1) {
      await server.conversations.say('kiosk-7', `hello again ${count}`, { channel: 'rest' });
    }
    await using open = await openPage(server.url);
    const { page } = open;
    await openList(page);
    await expect.poll(() => titles(page)).toEqual(['what is my zebra balance']);
    const search = page.getByRole('searchbox', { name: 'Search conversations' });
    await search.fill('hello zebra 14');
    await expect.poll(() => titles(page)).toEqual(['what is my zebra balance']);
    await search.fill('giraffe');
    await page.getByRole('heading', { name: 'No matches' }).waitFor();
  });

  test('follows messages that arrive over another channel', patient, async () => {
    await using server = await bank();
    await server.conversations.say('kiosk-7', 'what is my balance', { channel: 'rest' });
    await using open = await openPage(server.url, { hash: '#/talk/kiosk-7' });
    const { page } = open;
    await expect.poll(() => said(page)).toEqual(['what is my balance']);
    await server.conversations.say('kiosk-7', 'freeze my card', { channel: 'rest' });
    await expect
      .poll(() => said(page), { timeout: 10_000 })
      .toEqual(['what is my balance', 'freeze my card']);
  });

  test('shows conversations of other callers, to read and not to write', patient, async () => {
    const auth = new Authenticator({
      verifiers: [bearerTokenVerifier({ tokens: [{ token: 'adas-token', subject: 'ada' }] })],
    });
    await using server = await inspectedServer({ auth });
    const client = await connect(server.url, { auth: { bearer: 'adas-token' } });
    await client.sendMessage({ message: message('report') });
    await using open = await openPage(server.url);
    const { page } = open;
    await openList(page);
    await page.locator('.talk-list .windowed-row', { hasText: 'ada' }).click();
    await page.locator('.turn').getByText('Weekly report').waitFor();
    await page.getByText('A conversation of ada. You can read it, not write to it.').waitFor();
    expect(await page.locator('.composer').count()).toBe(0);
  });
});

describe('addresses and reloads', () => {
  test(
    'a link opens a conversation with its history, and reloading keeps all',
    patient,
    async () => {
      await using server = await inspectedServer();
      await using open = await openPage(server.url);
      const { page } = open;
      await open.say('report');
      await open.say('hello');
      const first = await page.evaluate(() => location.hash);
      expect(first).toMatch(/^#\/talk\/[\w-]+$/);
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.locator('.talk.current .composer-text').fill('second');
      await page.locator('.talk.current .composer-text').press('Enter');
      await page.locator('.turn').getByText('You said: second').waitFor();
      await expect.poll(() => page.evaluate(() => location.hash)).not.toBe(first);

      await page.reload();
      await expect.poll(() => said(page, 0)).toEqual(['report', 'hello']);
      await expect.poll(() => said(page, 1)).toEqual(['second']);
      await page.locator('.turn').getByText('Weekly report').waitFor();

      await using other = await openPage(server.url, { hash: first });
      await expect.poll(() => said(other.page)).toEqual(['report', 'hello']);
      await other.say('third');
      await expect.poll(() => said(other.page)).toEqual(['report', 'hello', 'third']);
      expect(await other.page.evaluate(() => location.hash)).toBe(first);
    },
  );

  test('messages that were written while the history loads are not lost', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('report');
    const held = Promise.withResolvers<void>();
    await page.route(/\/api\/conversations\/./, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.reload();
    const composer = page.locator('.composer-text');
    for (const text of ['first', 'second']) {
      await composer.fill(text);
      await composer.press('Enter');
      await expect.poll(() => composer.inputValue()).toBe('');
    }
    held.resolve();
    await expect.poll(() => said(page)).toEqual(['report', 'first']);
    await expect.poll(() => composer.inputValue()).toBe('second');
  });

  test('a link that was cut off opens its view', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url, { hash: '#/tasks/%E0%A4' });
    await open.page.locator('nav [aria-current=page]', { hasText: 'Tasks' }).waitFor();
  });

  test('a task is opened in Talk', patient, async () => {
    await using server = await inspectedServer();
    const client = await connect(server.url);
    await client.sendMessage({ message: message('report') });
    await using open = await openPage(server.url, { hash: '#/tasks' });
    const { page } = open;
    await page.locator('.task-row').first().click();
    await page.getByRole('button', { name: 'Open in Talk' }).click();
    await page.locator('.turn').getByText('Weekly report').waitFor();
    expect(await said(page)).toEqual(['report']);
  });
});

describe('forks', () => {
  test('continue from any turn, and leave the conversation as it was', patient, async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('send money to Anna');
    await open.say('50');
    const original = await page.evaluate(() => location.hash);
    await page.getByRole('button', { name: 'Fork after this turn' }).first().click();
    await expect.poll(() => said(page, 1)).toEqual(['send money to Anna']);
    const composer = page.locator('.talk.current .composer-text');
    await composer.fill('70');
    await composer.press('Enter');
    await expect.poll(() => said(page, 1)).toEqual(['send money to Anna', '70']);
    await page.locator('.talk').nth(1).locator('.turn').nth(1).locator('.turn-foot').waitFor();
    await page.getByRole('tab', { name: 'Slots' }).click();
    await page.locator('tr', { hasText: 'amount' }).getByText('70').first().waitFor();
    await page.goto(`${server.url}/inspect/${original}`);
    await page.locator('tr', { hasText: 'amount' }).getByText('50').first().waitFor();
  });

  test('an edited message is sent from where it was', patient, async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('what is my balance');
    await open.say('send 50 euros to Anna');
    await page.getByRole('button', { name: 'Edit and rerun' }).last().click();
    const field = page.getByRole('textbox', { name: 'Message to send instead' });
    expect(await field.inputValue()).toBe('send 50 euros to Anna');
    await field.fill('freeze my card');
    await page.getByRole('button', { name: 'Rerun', exact: true }).click();
    await expect.poll(() => said(page, 1)).toEqual(['what is my balance', 'freeze my card']);
    await page.locator('.talk').nth(1).getByText('Please give me your PIN').waitFor();
    expect(await said(page, 0)).toEqual(['what is my balance', 'send 50 euros to Anna']);
  });

  test('of other agents, send the messages up to the turn again', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url);
    const { page } = open;
    for (const text of ['one', 'two', 'three']) await open.say(text);
    await page
      .getByRole('button', { name: /^Fork after this turn: sends/ })
      .nth(1)
      .click();
    await expect.poll(() => said(page, 1)).toEqual(['one', 'two']);
    await page.locator('.talk').nth(1).getByText('You said: two').waitFor();
    expect(await said(page, 0)).toEqual(['one', 'two', 'three']);
  });

  test('of other agents, the messages before an edited one are sent again', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('one');
    await open.say('two');
    await page.getByRole('button', { name: 'Edit and rerun' }).last().click();
    await page.getByRole('textbox', { name: 'Message to send instead' }).fill('three');
    await page.getByRole('button', { name: 'Rerun', exact: true }).click();
    await expect.poll(() => said(page, 1)).toEqual(['one', 'three']);
    await page.locator('.talk').nth(1).getByText('You said: three').waitFor();
  });
});

describe('an assistant', () => {
  test('takes another value for a slot, and refuses one that does not fit', patient, async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('send 50 euros to Anna');
    await page.getByRole('tab', { name: 'Slots' }).click();
    await page.getByRole('button', { name: 'Edit amount' }).click();
    const field = page.getByRole('textbox', { name: 'Value of amount' });
    await field.fill('a lot');
    await field.press('Enter');
    await page.locator('.slot-form').getByText('must fit the slot: float').waitFor();
    await field.fill('75');
    await field.press('Enter');
    await expect.poll(() => page.locator('.slot-form').count()).toBe(0);
    await page.locator('tr', { hasText: 'amount' }).getByText('75').first().waitFor();
    await open.say('yes');
    await page.locator('.turn').last().getByText(/75/).first().waitFor();
  });

  test('exports its tracker as JSON', patient, async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('send 50 euros to Anna');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export tracker JSON' }).click(),
    ]);
    const tracker: unknown = JSON.parse(await readFile(await download.path(), 'utf8'));
    expect(tracker).toMatchObject({ slots: { amount: 50 }, latest_input_channel: 'inspector' });
    expect(download.suggestedFilename()).toMatch(/^[\w-]+\.json$/);
  });

  test('runs saved tests, with the result beside their conversation', patient, async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('what is my balance');
    await page.getByRole('tab', { name: 'Tests' }).click();
    await page.getByRole('button', { name: 'Run as a test' }).click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('passed').first().waitFor();
    await expect.poll(() => said(page, 1)).toEqual(['what is my balance']);

    const saved = page.locator('.test-list button').first();
    const name = ((await saved.getAttribute('aria-label')) ?? '').replace(/^Run /, '');
    await saved.click();
    await result.getByRole('heading', { name }).waitFor();
    expect(await page.locator('.talk').count()).toBe(2);
    expect(await page.evaluate(() => location.hash)).toMatch(/^#\/talk\/test-/);
  });
});
