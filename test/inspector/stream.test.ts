import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage } from './pages.ts';

afterAll(closeChromium);

const count = 10_000;

interface Seen {
  readonly pictures: number;
  readonly late: number;
  readonly nodes: number;
}

/** Counts pictures, those that were long in coming, and elements, for as long as the page is open. */
async function watchPictures(page: Page): Promise<() => Promise<Seen>> {
  await page.evaluate(() => {
    const seen = { pictures: 0, late: 0, nodes: 0, last: performance.now() };
    Object.assign(window, { seen });
    const step = (now: number): void => {
      seen.pictures += 1;
      if (now - seen.last > 100) seen.late += 1;
      seen.last = now;
      seen.nodes = Math.max(seen.nodes, document.querySelectorAll('*').length);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  return () => page.evaluate(() => (window as unknown as { seen: Seen }).seen);
}

/** The processor's time that the page has taken so far: what other programs take does not count. */
async function processorTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
}

async function stream(page: Page, events: number): Promise<void> {
  const turns = await page.locator('.turn').count();
  await page.locator('.composer-text').fill(`stream ${events}`);
  await page.locator('.composer-text').press('Enter');
  const state = page.locator('.turn').nth(turns).locator('.turn-foot .badge');
  await state.filter({ hasText: 'completed' }).waitFor({ timeout: 90_000 });
}

test(
  'ten thousand streamed events leave the page smooth and small',
  { timeout: 180_000 },
  async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url);
    const { page } = open;
    await page.getByRole('tab', { name: 'Wire' }).click();
    const timeSoFar = await processorTime(page);
    const seenSoFar = await watchPictures(page);

    await stream(page, 100);
    const before = await timeSoFar();
    await stream(page, 1_000);
    const between = await timeSoFar();
    await stream(page, count);
    const after = await timeSoFar();
    const seen = await seenSoFar();

    // Ten times as many cost about ten times as much; were anything done again for all that came
    // before, they would cost a hundred times as much.
    expect((after - between) / (between - before)).toBeLessThan(30);
    // As many elements as for twenty events: only rows in sight exist.
    expect(seen.nodes).toBeLessThan(1_500);
    // The machine may be busy with other things; a page that is stuck draws hardly anything in time.
    expect(seen.late * 4).toBeLessThan(seen.pictures);

    const events = await page.locator('.wire-row').first().textContent();
    expect(Number(/(\d+) events/.exec(events ?? '')?.[1])).toBeGreaterThanOrEqual(count);
    expect(await page.locator('.bubble.artifact').last().textContent()).toContain(`word ${count}`);

    // Any of them can be reached, and the list stays as small.
    const list = page.getByRole('listbox', { name: 'Events of the stream' });
    await list.focus();
    await page.keyboard.press('Home');
    await expect
      .poll(() => list.locator('[aria-selected=true]').textContent())
      .toContain('submitted');
    await page.keyboard.press('End');
    await expect
      .poll(() => list.locator('[aria-selected=true]').textContent())
      .toContain('completed');
    expect(await list.locator('.windowed-row').count()).toBeLessThan(60);

    // The same task from its log.
    await page.locator('.turn-foot a').last().click();
    await page.getByText(/^10\d{3} of 10\d{3}$/).waitFor({ timeout: 60_000 });
    expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(1_500);
    await page.getByRole('slider', { name: 'Event' }).fill('5000');
    await page.getByText('The task after event 5001').waitFor();
  },
);
