import { existsSync } from 'node:fs';
import { type Browser, chromium as playwright } from 'playwright-core';
import { installPackage } from './servers.ts';

const hint =
  'These tests need Chromium: set CHROMIUM to its path, or install it (Debian: apt-get install ' +
  'chromium) so that the tests can start one of their own.';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Only the page under test: no other network, no stored state. */
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let shared: Promise<Browser> | undefined;

/** The browser of this test run, started when first asked for; it ends with the process. */
export function chromium(): Promise<Browser> {
  shared ??= launch();
  return shared;
}

/** Ends the browser, if there is one; the next call of `chromium` starts another. */
export async function closeChromium(): Promise<void> {
  const browser = shared;
  shared = undefined;
  await (await browser)?.close();
}

async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? find() ?? install();
  return playwright.launch({ executablePath, args: flags });
}

function find(): string | undefined {
  return places.find((place) => existsSync(place));
}

function install(): string {
  installPackage('chromium', hint);
  const found = find();
  if (found === undefined) throw new Error(hint);
  return found;
}
