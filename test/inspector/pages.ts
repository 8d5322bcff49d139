import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { inspectorToken } from '../../src/http/inspector/testing/inspected-server.ts';
import { chromium } from '../support/chromium.ts';

/** For tests of many views: the machine may be busy. */
export const patient = { timeout: 120_000 };

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the page, and requests to other servers. */
  readonly problems: readonly string[];
  /** Sends a message in the first conversation, and waits for the end of the turn. */
  say(text: string): Promise<void>;
}

/** Opens the inspector of a server in a new browser context. Disposal fails if the page had problems. */
export async function openPage(
  url: string,
  options: BrowserContextOptions & {
    readonly hash?: string;
    /** Whether the page is opened by its link, as operators do. @default true */
    readonly byLink?: boolean;
  } = {},
): Promise<OpenPage> {
  const { hash = '', byLink = true, ...contextOptions } = options;
  const context = await (
    await chromium()
  ).newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    ...contextOptions,
  });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // The browser itself reports refused requests, which tests provoke.
    const isOwn = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isOwn) problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(url) && !/^(?:blob|data):/.test(address)) {
      problems.push(`request: ${address}`);
    }
  });
  await page.goto(`${url}/inspect/${byLink ? `?token=${inspectorToken}` : ''}${hash}`);
  return {
    page,
    problems,
    async say(text) {
      const turns = await page.locator('.turn').count();
      await page.locator('.composer-text').first().fill(text);
      await page.locator('.composer-text').first().press('Enter');
      const turn = page.locator('.turn').nth(turns);
      await turn.locator('.turn-foot').waitFor();
      await page.locator('button[aria-label="Send"]').first().waitFor();
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      expect(problems).toEqual([]);
    },
  };
}
