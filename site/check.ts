import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { chromium, closeChromium } from '../test/support/chromium.ts';

/** Beyond this, the first search takes seconds on a slow connection. */
const maxIndexKiB = 2_000;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Opens the built site in Chromium: diagrams are drawn, search finds pages, a page of the API opens. */
export async function checkSite(dist: string): Promise<string> {
  const [index = ''] = globSync('assets/chunks/@localSearchIndexroot*.js', { cwd: dist });
  const kib = Math.round(statSync(join(dist, index)).size / 1024);
  assert.ok(kib <= maxIndexKiB, `the search index has ${kib} KiB, more than ${maxIndexKiB}`);
  const server = await serveFolder(dist);
  const browser = await chromium();
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  try {
    const diagrams = await checkDiagrams(page, server.url);
    await checkSearch(page, server.url);
    await checkApi(page, server.url);
    assert.deepEqual(errors, []);
    return `${diagrams} diagrams drawn, search (index of ${kib} KiB) and the API reference work`;
  } finally {
    await page.close();
    await closeChromium();
    await server.close();
  }
}

/** Below, the text of a diagram is smaller than 10 pixels. */
const leastScale = 0.65;

async function checkDiagrams(page: Page, url: string): Promise<number> {
  let count = 0;
  for (const path of ['/docs/concepts', '/docs/guides/whole-system', '/ARCHITECTURE']) {
    await page.goto(url + path);
    const all = await page.locator('pre.mermaid').count();
    assert.ok(all > 0, `${path} has no diagram`);
    await page.waitForFunction(
      (expected) => document.querySelectorAll('pre.mermaid > svg').length === expected,
      all,
    );
    assert.equal(await page.locator('pre.mermaid .error-icon').count(), 0, `${path}: a diagram`);
    const scales = await page.locator('pre.mermaid > svg').evaluateAll((diagrams) =>
      diagrams.map((diagram) => {
        const width = Number(diagram.getAttribute('viewBox')?.split(' ')[2]);
        return diagram.getBoundingClientRect().width / width;
      }),
    );
    const smallest = Math.min(...scales);
    assert.ok(
      smallest >= leastScale,
      `${path}: a diagram is scaled to ${Math.round(smallest * 100)} %; shorten its labels`,
    );
    count += all;
  }
  return count;
}

async function checkSearch(page: Page, url: string): Promise<void> {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/*localSearchIndexroot*', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(url);
  await page.locator('#local-search button, button.DocSearch-Button').first().click();
  await page.locator('.VPLocalSearchBox .search-input').fill('dead letters');
  await page.waitForFunction(() => {
    const results = document.querySelector('.VPLocalSearchBox .results');
    return results !== null && getComputedStyle(results, '::after').content.includes('Searching');
  });
  release();
  await page.locator('.VPLocalSearchBox .result').first().waitFor();
  const found = await page
    .locator('.VPLocalSearchBox .result')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
  assert.ok(
    found.some((href) => href.startsWith('/docs/guides/operate-rabbitmq')),
    `"dead letters" finds ${found.join(', ')}`,
  );
  await page.locator('.VPLocalSearchBox .search-input').fill('joinPeers');
  await page.locator('.VPLocalSearchBox .result[href^="/api/"]').first().waitFor();
}

async function checkApi(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/api/`);
  for (const item of await page.locator('main li').allTextContents()) {
    assert.match(item, /^legate\S*: \w/, 'an entry of the API has no description');
  }
  await page.locator('main a[href^="/api/client"], main a[href^="./client"]').first().click();
  await page.locator('main h1', { hasText: 'legate/client' }).waitFor();
  assert.ok((await page.locator('main h3').count()) > 10, 'the page of legate/client is empty');
}

/** The files on a port of loopback, with addresses without `.html`, as static hosts serve them. */
async function serveFolder(folder: string) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const path = resolve(join(folder, decodeURIComponent(pathname)));
    const file = [path, `${path}.html`, join(path, 'index.html')].find(
      (each) => each.startsWith(folder) && existsSync(each) && statSync(each).isFile(),
    );
    if (file === undefined) return void response.writeHead(404).end();
    const type = types[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type }).end(readFileSync(file));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
