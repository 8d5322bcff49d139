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
  // Paths outside of the inspector's belong to the agent.
  expect((await fetch(`${server.url}/inspector`)).status).toBe(404);
  expect((await fetch(`${server.url}/.well-known/agent-card.json`)).status).toBe(200);
});

test('in a checkout concurrent requests build the page once', async () => {
  const folders = await Promise.all([findPage(), findPage(), findPage()]);
  expect(new Set(folders).size).toBe(1);
  expect(existsSync(join(folders[0] ?? '', 'index.html'))).toBe(true);
  expect(readdirSync(join(folders[0] ?? '', '..'))).toHaveLength(1);
});

test('built files are sent in the best coding that the browser accepts', async () => {
  await using server = await inspectedServer();
  const html = await (await fetch(`${server.url}/inspect/`)).text();
  const script = /src="\.\/(assets\/[^"]+)"/.exec(html)?.[1] ?? '';
  const requestAs = (coding: string) =>
    fetch(`${server.url}/inspect/${script}`, { headers: { 'accept-encoding': coding } });
  const plain = await requestAs('identity');
  const text = await plain.text();
  expect(plain.headers.get('content-encoding')).toBeNull();
  const accepted = [
    ['gzip, deflate, br', 'br'],
    ['gzip;q=0.5, br;q=0', 'gzip'],
    ['GZIP', 'gzip'],
  ] as const;
  for (const [coding, sent] of accepted) {
    const answer = await requestAs(coding);
    expect(answer.headers.get('content-encoding'), coding).toBe(sent);
    expect(answer.headers.get('vary')).toBe('accept-encoding');
    expect(answer.headers.get('etag')).not.toBe(plain.headers.get('etag'));
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(text.length / 2);
    expect(await answer.text()).toBe(text);
  }
});

test('the page starts with at most 76 kB on the wire', async () => {
  await using server = await inspectedServer();
  const html = await (await fetch(`${server.url}/inspect/`)).text();
  let size = 0;
  for (const [, address] of html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)) {
    const asset = await fetch(`${server.url}/inspect/${address}`, {
      headers: { 'accept-encoding': 'br' },
    });
    size += Number(asset.headers.get('content-length'));
    await asset.arrayBuffer();
  }
  expect(size).toBeLessThan(76_000);
});
