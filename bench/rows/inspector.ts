import type { Page } from 'playwright-core';
import { inspectedServer } from '../../src/http/inspector/testing/inspected-server.ts';
import { chromium, closeChromium } from '../../test/support/chromium.ts';
import { type Bench, median } from '../bench.ts';
import { atLeast, type Row } from '../row.ts';

const events = 10_000;

/** The frames that a page rendered during an action, and its duration. */
interface Drawn {
  readonly perSecond: number;
  readonly seconds: number;
}

/** Ten times the rate of a fast model, in events per second. */
const perSecond = 1_000;

/** The inspector while a response with many events streams in, at a fixed rate and all at once. */
export const inspector: Row = {
  name: 'inspector',
  title: `the inspector while ${events.toLocaleString('en')} events stream in`,
  async run({ options: { rounds } }: Bench) {
    await using server = await inspectedServer();
    const browser = await chromium();
    try {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(server.link);
      await page.getByRole('tab', { name: 'Wire' }).click();
      await say(page, 'stream 1000');
      const idle = await draw(page, () => page.waitForTimeout(2_000));
      const streams: Drawn[] = [];
      const bursts: Drawn[] = [];
      for (let round = 0; round < rounds; round += 1) {
        streams.push(await draw(page, () => say(page, `stream ${events} ${perSecond}`)));
        bursts.push(await draw(page, () => say(page, `stream ${events}`)));
      }
      return {
        notes: {
          'frames/s of the page at rest': idle.perSecond,
          'frames/s, all events at once': median(bursts.map(({ perSecond: rate }) => rate)),
          'seconds until all are shown, all at once': median(bursts.map(({ seconds }) => seconds)),
        },
        verdicts: [
          atLeast(
            'frames/s at 1,000 events/s',
            median(streams.map(({ perSecond: rate }) => rate)),
            59,
            '',
          ),
        ],
      };
    } finally {
      await closeChromium();
    }
  },
};

/** Sends a message and waits until the page shows the end of the turn. */
async function say(page: Page, text: string): Promise<void> {
  const turns = await page.locator('.turn').count();
  await page.locator('.composer-text').fill(text);
  await page.locator('.composer-text').press('Enter');
  const state = page.locator('.turn').nth(turns).locator('.turn-foot .badge');
  await state.filter({ hasText: 'completed' }).waitFor({ timeout: 120_000 });
}

async function draw(page: Page, work: () => Promise<void>): Promise<Drawn> {
  await page.evaluate(() => {
    const drawn = { frames: 0, startedAt: performance.now(), isOver: false };
    Object.assign(window, { drawn });
    const step = (): void => {
      drawn.frames += 1;
      if (!drawn.isOver) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  await work();
  return page.evaluate(() => {
    const { drawn } = window as unknown as {
      drawn: { frames: number; startedAt: number; isOver: boolean };
    };
    drawn.isOver = true;
    const seconds = (performance.now() - drawn.startedAt) / 1_000;
    return { perSecond: drawn.frames / seconds, seconds };
  });
}
