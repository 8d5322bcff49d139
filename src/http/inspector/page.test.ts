import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findPage } from './page.ts';
import { inspectedServer } from './testing/inspected-server.ts';

test('the page is served with a policy that lets nothing but its own files run', async () => {
  await using server = await inspectedServer({}, { proxy: true });
  const page = await fetch(`${server.url}/inspect/`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("style-src 'self'");
  expect(policy).toContain("connect-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  const html = await page.text();
  expect(html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=|style=/i);
  const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '');
  expect(assets.length).toBeGreaterThan(2);
  for (const address of assets) {
    expect(address).toMatch(/^\.\//);
    const response = await fetch(new URL(address, `${server.url}/inspect/`));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    await response.arrayBuffer();
  }
});

test('without a proxy the page itself may call agents, and nothing else becomes laxer', async () => {
  await using server = await inspectedServer();
  const page = await fetch(`${server.url}/inspect/`);
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("connect-src 'self' https: http://localhost:* http://127.0.0.1:*;");
  expect(policy).toContain("script-src 'self';");
  await page.arrayBuffer();
});

test('built files are cached for good, the page itself is revalidated', async () => {
  await using server = await inspectedServer();
  const page = await fetch(`${server.url}/inspect/`);
  expect(page.headers.get('cache-control')).toBe('no-cache');
  const script = /src="\.\/(assets\/[^"]+)"/.exec(await page.text())?.[1] ?? '';
  const asset = await fetch(`${server.url}/inspect/${script}`);
  expect(asset.headers.get('cache-control')).toContain('immutable');
  await asset.arrayBuffer();
  const again = await fetch(`${server.url}/inspect/`, {
    headers: { 'if-none-match': page.headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
});

test('the address without a slash redirects to the page, wherever the server is mounted', async () => {
  await using server = await inspectedServer();
  const response = await fetch(`${server.url}/inspect`, { redirect: 'manual' });
  expect([response.status, response.headers.get('location')]).toEqual([308, 'inspect/']);
});

test('only files of the page are served', async () => {
  await using server = await inspectedServer();
  for (const path of ['../package.json', '%2e%2e/package.json', 'assets/none.js', 'a/b/c']) {
    expect((await fetch(`${server.url}/inspect/${path}`)).status).not.toBe(200);
  }
  expect((await fetch(`${server.url}/inspect/`, { method: 'POST' })).status).toBe(405);
  // What is not below the inspector is the agent's own.
  expect((await fetch(`${server.url}/inspector`)).status).toBe(404);
  expect((await fetch(`${server.url}/.well-known/agent-card.json`)).status).toBe(200);
});

test('in a checkout concurrent requests build the page once', async () => {
  const folders = await Promise.all([findPage(), findPage(), findPage()]);
  expect(new Set(folders).size).toBe(1);
  expect(existsSync(join(folders[0] ?? '', 'index.html'))).toBe(true);
  expect(readdirSync(join(folders[0] ?? '', '..'))).toHaveLength(1);
});
