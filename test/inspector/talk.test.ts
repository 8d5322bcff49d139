import type { IncomingMessage } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { serve } from '../../src/http/index.ts';
import { bakery, inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { artifact } from '../../src/protocol/index.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage } from './pages.ts';

afterAll(closeChromium);

/** Chooses an agent by its address in the agent dialog. */
async function chooseByAddress(page: Page, url: string): Promise<void> {
  await page
    .getByRole('combobox', { name: 'Agent', exact: true })
    .selectOption({ label: 'Another agent, by its address' });
  await page.getByLabel('Address of the agent').fill(url);
}

test('markdown is shown as elements, and markup in it as text', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  await open.say('report');
  const { page } = open;
  const bubble = page.locator('.bubble.artifact');
  expect(await bubble.locator('[role=heading]').textContent()).toBe('Weekly report');
  expect(await bubble.locator('table tbody tr').count()).toBe(2);
  expect(await bubble.locator('ol li').count()).toBe(2);
  expect(await bubble.locator('pre').textContent()).toContain('SELECT day');
  expect(await bubble.locator('img').count()).toBe(0);
  for (const link of await bubble.locator('a').all()) {
    expect(await link.getAttribute('href')).toMatch(/^https:/);
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
  }
  expect(await bubble.textContent()).toContain('<img src="https://example.com/spy.png"');
});

test('a requested form is filled in and sent back as data', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  await open.say('form');
  const { page } = open;
  await page.getByLabel('Guests').fill('4');
  await page.getByLabel('Place').selectOption('terrace');
  await page.locator('.reply-form').getByRole('button', { name: 'Send' }).click();
  await page.locator('.bubble').getByText('Booked: {"guests":4,"place":"terrace"}').waitFor();
  // The answer continued the task.
  expect(await page.locator('.reply-form').count()).toBe(0);
  const links = page.locator('.turn-foot a');
  expect(await links.first().getAttribute('href')).toBe(await links.last().getAttribute('href'));
});

test('files, data and metadata are sent with a message; received images are shown', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  const { page } = open;
  await page.getByLabel('Files to attach').setInputFiles([
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
    { name: 'more.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b') },
  ]);
  expect(await page.locator('.attachment').allTextContents()).toEqual([
    'notes.txt5 B',
    'more.csv3 B',
  ]);
  await page.getByRole('button', { name: 'Remove more.csv' }).click();
  await page.getByRole('button', { name: 'Data and metadata' }).click();
  await page.getByLabel('Data part, as JSON').fill('{"loaf": "rye"}');
  await page.getByRole('button', { name: 'Add metadata' }).click();
  await page.getByLabel('Metadata of the message: name 1').fill('urgent');
  await page.getByLabel('Metadata of the message: value 1').fill('true');
  await open.say('order');
  await page.locator('.bubble').getByText('Booked: {"loaf":"rye"}').waitFor();
  const { store } = server.serving.router;
  const [record] = (await store.list({ limit: 1 })).records;
  const sent = record?.snapshot.body.value.history?.[0];
  expect(sent?.metadata).toEqual({ urgent: true });
  expect(sent?.parts).toMatchObject([
    { text: 'order' },
    { data: { loaf: 'rye' } },
    {
      raw: Buffer.from('hello').toString('base64'),
      filename: 'notes.txt',
      mediaType: 'text/plain',
    },
  ]);
  await open.say('picture');
  const picture = page.locator('.file-part img');
  await picture.waitFor();
  expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(10);
});

test('the base64 of a file is folded on the wire until it is expanded', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  const { page } = open;
  const buffer = Buffer.alloc(3_000, 'abc');
  await page
    .getByLabel('Files to attach')
    .setInputFiles([{ name: 'notes.bin', mimeType: 'application/octet-stream', buffer }]);
  await open.say('order');
  await page.getByRole('tab', { name: 'Wire' }).click();
  const request = page.getByRole('region', { name: 'Request' });
  const folded = request.getByRole('button', { name: /4,000 characters/ });
  await folded.waitFor();
  expect(await request.textContent()).not.toContain(buffer.toString('base64').slice(0, 60));
  await folded.click();
  expect(await request.textContent()).toContain(buffer.toString('base64'));
});

test('a task is cancelled while it runs', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  const { page } = open;
  await page.locator('.composer-text').fill('wait');
  await page.locator('.composer-text').press('Enter');
  await page.locator('.bubble').getByText('Waiting to be told').waitFor();
  await page.getByRole('button', { name: 'Cancel the task' }).click();
  await page.locator('.turn-foot .badge', { hasText: 'canceled' }).waitFor();
});

test.each([
  ['1.0', 'JSON-RPC', 'SendStreamingMessage'],
  ['1.0', 'HTTP+JSON (REST)', 'SendStreamingMessage'],
  ['0.3', 'JSON-RPC', 'message/stream'],
  ['0.3', 'HTTP+JSON (REST)', 'SendStreamingMessage'],
])('any agent can be called by its address: A2A %s over %s', async (version, binding, call) => {
  await using other = await serve(bakery, { drainMs: 0 });
  await using server = await inspectedServer({}, { proxy: true });
  await using open = await openPage(server.url);
  const { page } = open;
  await page.getByRole('button', { name: /^Agent: / }).click();
  await chooseByAddress(page, other.url);
  await page.getByLabel('Version').selectOption(version);
  await page.getByLabel('Binding').selectOption({ label: binding });
  await page.getByRole('button', { name: 'Add a header' }).click();
  await page.getByLabel('Headers of every request: name 1').fill('X-Purpose');
  await page.getByLabel('Headers of every request: value 1').fill('test');
  await page.getByRole('button', { name: 'Connect' }).click();
  await expect
    .poll(() => page.locator('.talk-who p').textContent())
    .toContain(`${binding.startsWith('JSON') ? 'JSONRPC' : 'HTTP+JSON'} ${version}`);
  await open.say('stream 3');
  await page.locator('.bubble').getByText('word 1 word 2 word 3').waitFor();

  // The wire shows it all, and nothing is wrong with it.
  await page.getByRole('tab', { name: 'Wire' }).click();
  const row = page.locator('.wire-row').first();
  expect(await row.textContent()).toContain(call);
  expect(await row.locator('.mark.good').count()).toBe(1);
  await page
    .locator('.wire-side')
    .first()
    .getByText(/headers/)
    .click();
  expect(await page.locator('.wire-side').first().textContent()).toContain('x-purpose');
  expect(await page.locator('.mark.bad').count()).toBe(0);
});

test('credentials are sent where they belong and shown nowhere', async () => {
  const seen: (string | undefined)[] = [];
  await using other = await serve(bakery, { drainMs: 0 });
  other.server.prependListener('request', ({ method, headers }: IncomingMessage) => {
    if (method === 'POST') seen.push(headers.authorization);
  });
  await using server = await inspectedServer({}, { proxy: true });
  await using open = await openPage(server.url);
  const { page } = open;
  await page.getByRole('button', { name: /^Agent: / }).click();
  await chooseByAddress(page, other.url);
  await page.getByLabel('Credential').selectOption({ label: 'User and password' });
  await page.getByLabel('User', { exact: true }).fill('ada');
  await page.getByLabel('Password').fill('very-secret');
  await page.getByRole('button', { name: 'Connect' }).click();
  await open.say('hello');
  expect(seen).toEqual([`Basic ${btoa('ada:very-secret')}`]);
  await page.getByRole('tab', { name: 'Wire' }).click();
  for (const summary of await page.locator('.headers summary').all()) await summary.click();
  const shown = await page.locator('body').textContent();
  expect(shown).toContain('[redacted]');
  expect(shown).not.toContain('very-secret');
  expect(shown).not.toContain(btoa('ada:very-secret'));
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('secret');
});

test('an agent that requires authentication is reported, with the schemes of its card', async () => {
  const tokens = [{ token: 'right-token', subject: 'ada' }];
  const auth = new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] });
  await using other = await serve(bakery, { auth, drainMs: 0 });
  await using server = await inspectedServer({}, { proxy: true });
  await using open = await openPage(server.url);
  const { page } = open;
  await page.getByRole('button', { name: 'Talk to another agent' }).click();
  await chooseByAddress(page, other.url);
  await page.getByRole('button', { name: 'Connect' }).click();
  await open.say('hello');
  await page.locator('.turn .notice.bad').waitFor();
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByText(/^The card requires .*bearer/i).waitFor();
  await page.getByLabel('Credential').selectOption({ label: 'Bearer token' });
  await page.getByLabel('Secret').fill('right-token');
  await page.getByRole('button', { name: 'Connect' }).click();
  await open.say('hello');
  await page.locator('.bubble').getByText('You said: hello').waitFor();
});

test('invalid responses are reported with the invalid field', async () => {
  await using other = await serve(bakery, {
    drainMs: 0,
    channels: [
      {
        name: 'wrong answers',
        mount({ route }) {
          route('POST', '/', ({ response }) => {
            const body = { jsonrpc: '2.0', id: 7, result: { task: { id: 't', status: {} } } };
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end(JSON.stringify(body));
          });
        },
      },
    ],
  });
  await using server = await inspectedServer({}, { proxy: true });
  await using open = await openPage(server.url);
  const { page } = open;
  await page.getByRole('button', { name: /^Agent: / }).click();
  await chooseByAddress(page, other.url);
  await page.getByRole('button', { name: 'Connect' }).click();
  await open.say('hello');
  expect(await page.locator('.turn .notice.bad').textContent()).toContain(
    'sent an invalid A2A response',
  );
  await page.getByRole('tab', { name: /Wire/ }).click();
  const verdict = page.locator('.wire-side').last().locator('.verdict.bad');
  await verdict.waitFor();
  expect(await verdict.textContent()).toContain('id: must be that of the request');
  expect(await verdict.textContent()).toContain('status.state');
});

test('several conversations run side by side, each with its own context', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  const { page } = open;
  await open.say('first');
  await page.locator('h1').click();
  await page.keyboard.press('n');
  const columns = page.locator('.talk');
  await expect.poll(() => columns.count()).toBe(2);
  await columns.last().locator('.composer-text').fill('second');
  await columns.last().locator('.composer-text').press('Enter');
  await columns.last().getByText('You said: second').waitFor();
  await columns.last().locator('.talk-context').waitFor();
  const contexts = await page.locator('.talk-context code').allTextContents();
  expect(new Set(contexts).size).toBe(2);
  expect(await columns.first().getByText('You said: second').count()).toBe(0);
  await columns.last().getByRole('button', { name: 'End this conversation' }).click();
  await expect.poll(() => columns.count()).toBe(1);
});

test('with more conversations than columns, a button of any column works at the first press', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  const { page } = open;
  const columns = page.locator('.talk');
  const send = async (text: string): Promise<void> => {
    await columns.last().locator('.composer-text').fill(text);
    await columns.last().locator('.composer-text').press('Enter');
    await columns.last().getByText(`You said: ${text}`).waitFor();
  };
  await send('first');
  for (const text of ['second', 'third']) {
    await page.locator('h1').click();
    await page.keyboard.press('n');
    await columns.last().locator('.turn').waitFor({ state: 'detached' });
    await send(text);
  }
  expect(await columns.count()).toBe(2);
  const tabs = page.getByRole('group', { name: 'Open conversations' }).getByRole('button');
  expect(await tabs.allTextContents()).toEqual(['1. first', '2. second', '3. third']);
  const second = columns.filter({ hasText: 'You said: second' });
  await second.getByRole('button', { name: 'Edit' }).click();
  await second.locator('.turn form').waitFor();
});

test('connecting to another agent starts a new context', async () => {
  const contexts: (string | undefined)[] = [];
  await using other = await serve(
    agent({ name: 'listener' }, async function* (turn) {
      contexts.push(turn.message.contextId);
      yield artifact('heard');
    }),
    { drainMs: 0 },
  );
  await using server = await inspectedServer({}, { proxy: true });
  await using open = await openPage(server.url);
  const { page } = open;
  await open.say('hello');
  const before = await page.locator('.talk-context code').getAttribute('title');
  await page.getByRole('button', { name: /^Agent: / }).click();
  // The first field has the focus, and an address is required.
  const agents = page.getByRole('combobox', { name: 'Agent', exact: true });
  expect(await agents.evaluate((field) => field === document.activeElement)).toBe(true);
  await agents.selectOption({ label: 'Another agent, by its address' });
  const button = page.getByRole('button', { name: 'Connect' });
  expect(await button.isDisabled()).toBe(true);
  await page.getByLabel('Address of the agent').fill(other.url);
  await button.click();
  await open.say('hello');
  await page.locator('.bubble').getByText('heard').waitFor();
  expect(contexts).toHaveLength(1);
  expect(contexts[0]).not.toBe(before);
});
