import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { message } from '../../src/protocol/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { closeChromium } from '../support/chromium.ts';
import { bank } from './bank.ts';
import { faintTexts, violations } from './legibility.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

const views = ['talk', 'tasks', 'push', 'peers', 'network'] as const;

/** Every view with something in it. */
async function visit(
  page: Page,
  url: string,
  look: (view: string) => Promise<void>,
): Promise<void> {
  for (const view of views) {
    await page.goto(`${url}/inspect/#/${view}`);
    await page.locator('h1').waitFor();
    if (view === 'tasks') {
      await page.locator('.task-row').first().click();
      await page.locator('.timeline .windowed-row').first().waitFor();
      for (const tab of await page.locator('.pair-detail').getByRole('tab').all()) {
        await tab.click();
        await look(`tasks, ${await tab.textContent()}`);
      }
    }
    if (view === 'push') await page.getByRole('tab', { name: 'Receiver' }).click();
    if (view === 'network') await page.locator('.net-node').first().waitFor();
    await look(view);
  }
}

test.each(['light', 'dark'] as const)(
  '%s: every text can be read, and axe finds no violation',
  patient,
  async (colorScheme) => {
    await using server = await bank();
    await using open = await openPage(server.url, { colorScheme });
    const { page } = open;
    const look = async (view: string): Promise<void> => {
      expect(await faintTexts(page), view).toEqual([]);
      expect(await violations(page), view).toEqual([]);
    };
    await look('empty');
    for (const view of ['tasks', 'push', 'peers', 'network']) {
      await page.goto(`${server.url}/inspect/#/${view}`);
      await page.locator('h1').waitFor();
      await look(`empty ${view}`);
    }
    await page.goto(`${server.url}/inspect/#/talk`);
    await open.say('send 50 euros to Anna');
    await page.locator('.node.active').waitFor();
    await look('flow');
    for (const tab of ['Slots', 'Turn', 'Tests', 'Wire', 'Agent']) {
      await page.getByRole('tab', { name: tab }).click();
      await look(tab);
    }
    await page.getByRole('button', { name: /^Agent: / }).click();
    await look('agent dialog');
    await page.keyboard.press('Escape');
    await visit(page, server.url, look);
  },
);

test.each(['light', 'dark'] as const)(
  '%s: peers with trust, approvals, sub agents and webhooks can be read as well',
  patient,
  async (colorScheme) => {
    const peer = { id: 'mill', name: 'mill', address: 'https://mill.example', trust: 'act' };
    await using receiver = await startReceiver((_call, response) => {
      response.writeHead(503).end();
    });
    await using server = await inspectedServer(
      { push: { maxAttempts: 1 } },
      {
        network: {
          levels: [
            { name: 'observe', description: 'may ask' },
            { name: 'act', description: 'may do' },
          ],
          peers: async () => [
            { ...peer, transport: 'http', reach: 'unreachable', lastError: 'it is closed' },
          ],
          setTrust: async () => {},
          approvals: async () => [{ id: 'a1', peerId: 'mill', title: 'Grind', since: 1 }],
          decide: async () => {},
          calls: async () => [{ from: 'bakery', to: 'mill', count: 7, failed: 2 }],
        },
      },
    );
    await using open = await openPage(server.url, { colorScheme, hash: '#/peers/mill' });
    const { page } = open;
    const look = async (view: string): Promise<void> => {
      expect(await faintTexts(page), view).toEqual([]);
      expect(await violations(page), view).toEqual([]);
    };
    await page.locator('.trust').waitFor();
    await page.locator('.nav-count').waitFor();
    await look('peers');
    await page.goto(`${server.url}/inspect/#/network`);
    await page.locator('.call.failing').waitFor({ state: 'attached' });
    await look('network');
    await server.serving.router.engine.send(
      {
        message: message('hello'),
        configuration: { taskPushNotificationConfig: { id: 'mine', url: receiver.url } },
      },
      { caller: { tenant: '', subject: '', method: 'test' }, version: '1.0', isLocal: () => true },
    );
    await page.goto(`${server.url}/inspect/#/push`);
    for (const tab of ['Deliveries', 'Dead letters', 'Registered']) {
      await page.getByRole('tab', { name: tab }).click();
      await page.locator('.row').first().waitFor({ timeout: 15_000 });
      await look(tab);
    }
  },
);

test('the theme follows the system until the user chooses one, and the choice is kept', async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url, { colorScheme: 'dark' });
  const { page } = open;
  const theme = () => page.locator('html').getAttribute('data-theme');
  expect(await theme()).toBe('dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(theme).toBe('light');
  await page.getByRole('button', { name: 'Use dark colours' }).click();
  expect(await theme()).toBe('dark');
  await page.reload();
  expect(await theme()).toBe('dark');
});

test.each([
  [360, 740],
  [1024, 768],
  [3840, 2160],
])(
  'at %i by %i nothing is cut off or too small to read, and axe finds no violation',
  patient,
  async (width, height) => {
    await using server = await bank();
    await using open = await openPage(server.url, { viewport: { width, height } });
    const { page } = open;
    const look = async (view: string): Promise<void> => {
      const state = await page.evaluate(() => ({
        overflow: document.documentElement.scrollWidth - innerWidth,
        smallest: Math.min(
          ...[...document.querySelectorAll<HTMLElement>('main p, main span, main button, main td')]
            .filter((element) => element.textContent?.trim() !== '')
            .map((element) => Number.parseFloat(getComputedStyle(element).fontSize)),
        ),
        // What stands outside of the window and of everything that scrolls is lost.
        lost: [...document.querySelectorAll<HTMLElement>('main button')]
          .filter((button) => {
            const { left, right, width: wide } = button.getBoundingClientRect();
            if (wide === 0 || (left >= -1 && right <= innerWidth + 1)) return false;
            for (let at = button.parentElement; at !== null; at = at.parentElement) {
              if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return false;
            }
            return true;
          })
          .map((button) => button.outerHTML.slice(0, 100)),
      }));
      expect(state.overflow, view).toBeLessThanOrEqual(0);
      expect(state.lost, view).toEqual([]);
      expect(state.smallest, view).toBeGreaterThanOrEqual(11);
      expect(await violations(page), view).toEqual([]);
    };
    await open.say('send 50 euros to Anna');
    await look('talk');
    if ((await page.locator('.panel').count()) === 0) {
      await page.getByRole('button', { name: 'Inspect' }).click();
    }
    for (const tab of ['Flow', 'Slots', 'Turn', 'Tests', 'Wire', 'Agent']) {
      await page.getByRole('tab', { name: tab }).click();
      await look(tab);
    }
    await visit(page, server.url, look);
    // The picture of the network is drawn for the room there is.
    const isWhole = await page.locator('.network-picture').evaluate((picture) => {
      const { left, right } = picture.getBoundingClientRect();
      return [...picture.querySelectorAll('.net-node')].every((node) => {
        const area = node.getBoundingClientRect();
        return area.left >= left && area.right <= right;
      });
    });
    expect(isWhole).toBe(true);
    await page.goto(`${server.url}/inspect/#/talk`);
    if (width < 960) await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByRole('button', { name: /^Agent: / }).click();
    await page.getByLabel('Credential').or(page.getByLabel('Version')).first().waitFor();
    const dialog = await page.getByRole('dialog').evaluate((element) => ({
      isWithin: element.getBoundingClientRect().right <= innerWidth,
      overflow: element.scrollWidth - element.clientWidth,
    }));
    expect(dialog).toEqual({ isWithin: true, overflow: 0 });
  },
);

test.each([
  [1440, 900, 2],
  [1024, 768, 2],
  [390, 844, 1],
])(
  'at %i by %i two conversations side by side, or tabs for them, leave nothing cut off',
  patient,
  async (width, height, columns) => {
    await using server = await bank();
    await using open = await openPage(server.url, { viewport: { width, height } });
    const { page } = open;
    await open.say('send 50 euros to Anna');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await expect.poll(() => page.locator('.talk').count()).toBe(columns);
    const field = page.locator('.talk').last().locator('.composer-text');
    await field.fill('freeze my card');
    await field.press('Enter');
    await page.locator('.talk').last().locator('.turn-foot').waitFor();
    // Everything of a conversation is inside of its column, and every column inside of the window.
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('.talk')].flatMap((talk) => {
        const { left, right } = talk.getBoundingClientRect();
        const parts = [talk, ...talk.querySelectorAll<HTMLElement>('.bubble, button, textarea')];
        return parts
          .filter((part) => {
            const area = part.getBoundingClientRect();
            const isIn = area.left >= left - 1 && area.right <= right + 1;
            return area.width > 0 && !(isIn && area.left >= 0 && area.right <= innerWidth);
          })
          .map((part) => part.outerHTML.slice(0, 100));
      }),
    );
    expect(outside).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    if (columns === 1) {
      const tabs = page.getByRole('group', { name: 'Open conversations' }).getByRole('button');
      expect(await tabs.count()).toBe(2);
      await tabs.first().click();
      await page.locator('.bubble.own', { hasText: 'send 50 euros to Anna' }).waitFor();
    }
    expect(await violations(page)).toEqual([]);
  },
);

test('everything can be done with the keyboard', patient, async () => {
  await using server = await inspectedServer();
  await using open = await openPage(server.url);
  const { page } = open;
  await page.locator('.composer').waitFor();
  const focused = () =>
    page.evaluate(
      () =>
        document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
    );

  // The first stop leads past the navigation.
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Go to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');

  await page.keyboard.press('/');
  expect(await focused()).toBe('Message');
  await page.keyboard.type('report');
  await page.keyboard.press('Enter');
  await page.locator('.turn-foot').waitFor();

  // Keys do nothing while one writes.
  await page.keyboard.type('25');
  expect(await page.locator('.composer-text').inputValue()).toBe('25');

  await page.locator('h1').click();
  await page.keyboard.press('2');
  await page.locator('.task-row').waitFor();
  await page.getByRole('listbox', { name: 'Tasks' }).focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('.timeline').waitFor();
  await page.getByRole('tab', { name: 'Timeline' }).focus();
  await page.keyboard.press('ArrowRight');
  expect(await focused()).toContain('Steps');
  await page.keyboard.press('ArrowRight');
  expect(await focused()).toContain('Wire');
  await page.locator('.task-wire').waitFor();

  // What was sent is chosen from with the arrow keys, too.
  await page.locator('h1').click();
  await page.keyboard.press('1');
  await page.locator('.composer-text').waitFor();
  await page.keyboard.press('/');
  await expect.poll(focused).toBe('Message');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('order');
  await page.keyboard.press('Enter');
  const requests = page.getByRole('listbox', { name: 'Requests' });
  await expect.poll(() => requests.getByRole('option').count()).toBe(2);
  await requests.focus();
  await page.keyboard.press('ArrowDown');
  const last = requests.getByRole('option').last();
  expect(await last.getAttribute('aria-selected')).toBe('true');

  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);

  // The divider moves with the arrow keys.
  await page.keyboard.press('1');
  const handle = page.getByRole('separator');
  await handle.focus();
  const before = Number(await handle.getAttribute('aria-valuenow'));
  await page.keyboard.press('ArrowRight');
  expect(Number(await handle.getAttribute('aria-valuenow'))).toBeGreaterThan(before);
});
