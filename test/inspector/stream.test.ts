import { afterAll, expect, test } from 'vitest';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage } from './pages.ts';

afterAll(closeChromium);

const count = 10_000;

/**
 * Frames are counted, not timed: of the pictures that the browser could have drawn while the events
 * came in, the page may keep only few waiting, however fast the machine is.
 */
test(
  'ten thousand streamed events leave the page smooth and small',
  { timeout: 120_000 },
  async () => {
    await using server = await inspectedServer();
    await using open = await openPage(server.url);
    const { page } = open;
    await page.locator('.composer').waitFor();
    await page.getByRole('tab', { name: 'Wire' }).click();
    await page.evaluate(() => {
      const seen = { pictures: 0, late: 0, longest: 0, nodes: 0, last: performance.now() };
      Object.assign(window, { seen });
      const step = (now: number): void => {
        const pause = now - seen.last;
        seen.last = now;
        seen.pictures += 1;
        seen.longest = Math.max(seen.longest, pause);
        if (pause > 100) seen.late += 1;
        seen.nodes = Math.max(seen.nodes, document.querySelectorAll('*').length);
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    });
    await page.locator('.composer-text').fill(`stream ${count}`);
    await page.locator('.composer-text').press('Enter');
    await page.locator('.turn-foot .badge', { hasText: 'completed' }).waitFor({ timeout: 90_000 });
    const seen = await page.evaluate(
      () =>
        (window as unknown as { seen: Record<'pictures' | 'late' | 'longest' | 'nodes', number> })
          .seen,
    );
    // As many elements as for twenty events: only rows in sight exist.
    expect(seen.nodes).toBeLessThan(1_500);
    expect(seen.late / seen.pictures).toBeLessThan(0.1);

    const events = await page.locator('.wire-row').first().textContent();
    expect(Number(/(\d+) events/.exec(events ?? '')?.[1])).toBeGreaterThanOrEqual(count);
    expect(await page.locator('.bubble.artifact').textContent()).toContain(`word ${count}`);

    // Any of them can be reached, and the list stays as small.
    const list = page.getByRole('listbox', { name: 'Events of the stream' });
    await list.focus();
    await page.keyboard.press('Home');
    await expect.poll(() => list.locator('.windowed-row').first().textContent()).toContain('1');
    await page.keyboard.press('End');
    await expect
      .poll(() => list.locator('[aria-selected=true]').textContent())
      .toContain('completed');
    expect(await list.locator('.windowed-row').count()).toBeLessThan(60);

    // The same task from its log.
    await page.locator('.turn-foot a').click();
    await page.getByText(new RegExp(`of ${count}\\d*|of 10\\d{3}`)).waitFor({ timeout: 30_000 });
    expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(1_500);
    await page.getByRole('slider', { name: 'Event' }).fill('5000');
    await page.getByText('The task after event 5001').waitFor();
  },
);
