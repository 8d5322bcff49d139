import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

/** Pixels of the conversation below what is in sight. */
function below(page: Page): Promise<number> {
  return page.locator('.talk-log').evaluate((log) => {
    return Math.round(log.scrollHeight - log.clientHeight - log.scrollTop);
  });
}

/** Scrolls as a reader does. */
async function scrollBy(page: Page, pixels: number): Promise<void> {
  await page.locator('.talk-log').hover();
  await page.mouse.wheel(0, pixels);
}

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

describe.each(sizes)('at $width pixels', (viewport) => {
  test('the last message stays in sight, however many there are', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url, { viewport });
    const { page } = open;
    for (let count = 1; count <= 8; count += 1) {
      await open.say(count % 2 === 0 ? 'report' : 'hello');
      await expect.poll(() => below(page)).toBeLessThanOrEqual(1);
      await expect.poll(() => page.locator('.turn-foot').last().isVisible()).toBe(true);
    }
    expect(await page.locator('.talk-new').count()).toBe(0);
  });

  test('a text that streams stays in sight to its end', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url, { viewport });
    const { page } = open;
    await open.say('report');
    // Looks between all that is drawn: the end may be out of sight for one frame and no longer.
    await page.locator('.talk-log').evaluate((log) => {
      const seen = { most: 0, late: 0 };
      Object.assign(window, { seen });
      const look = (): void => {
        const rest = log.scrollHeight - log.clientHeight - log.scrollTop;
        seen.late = rest > 60 ? seen.late + 1 : 0;
        seen.most = Math.max(seen.most, seen.late);
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await open.say('stream 2000 2000');
    await expect.poll(() => below(page)).toBeLessThanOrEqual(1);
    const frames = await page.evaluate(
      () => (window as unknown as { seen: { most: number } }).seen.most,
    );
    expect(frames).toBeLessThanOrEqual(2);
  });

  test(
    'reading older messages is not disturbed, and a button leads to new ones',
    patient,
    async () => {
      await using server = await inspectedServer();
      await using open = await openPage(server.url, { viewport });
      const { page } = open;
      for (let count = 1; count <= 4; count += 1) await open.say('report');
      const log = page.locator('.talk-log');
      const composer = page.locator('.composer-text');
      await composer.fill('stream 3000 1000');
      await composer.press('Enter');
      await page.locator('.bubble.artifact', { hasText: 'word 20 ' }).waitFor();
      await scrollBy(page, -600);
      await page.getByRole('button', { name: 'New messages' }).waitFor();
      const top = await log.evaluate(({ scrollTop }) => scrollTop);
      const words = (): Promise<number> =>
        page
          .locator('.bubble.artifact')
          .last()
          .innerText()
          .then((text) => text.length);
      const before = await words();
      await expect.poll(words, { timeout: 20_000 }).toBeGreaterThan(before + 2_000);
      expect(await log.evaluate(({ scrollTop }) => scrollTop)).toBe(top);

      await page.getByRole('button', { name: 'New messages' }).click();
      await expect.poll(() => below(page)).toBeLessThanOrEqual(60);
      expect(await page.locator('.talk-new').count()).toBe(0);
      await page.locator('.turn-foot .badge', { hasText: 'completed' }).nth(4).waitFor();
      await expect.poll(() => below(page)).toBeLessThanOrEqual(1);
    },
  );

  test('sending goes to the end, wherever the reader is', patient, async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url, { viewport });
    const { page } = open;
    for (let count = 1; count <= 4; count += 1) await open.say('report');
    await scrollBy(page, -2_000);
    await expect.poll(() => below(page)).toBeGreaterThan(300);
    await open.say('hello');
    await expect.poll(() => below(page)).toBeLessThanOrEqual(1);
    // Scrolling back to the end by hand follows again, too.
    await scrollBy(page, -2_000);
    await expect.poll(() => below(page)).toBeGreaterThan(300);
    await scrollBy(page, 9_000);
    await expect.poll(() => below(page)).toBeLessThanOrEqual(1);
  });
});
