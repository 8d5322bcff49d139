import { spawn } from 'node:child_process';

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  // Not by cmd, to which parts of an address may be commands.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Shows a page in the browser of whoever sits at the terminal; elsewhere there is nobody to see it. */
export function openPage(url: string): void {
  if (!process.stdout.isTTY) return;
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  // Without a browser the address on the screen has to do.
  child.on('error', () => undefined);
  child.unref();
}
