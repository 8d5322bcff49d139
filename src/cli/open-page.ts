import { spawn } from 'node:child_process';

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  // Not through cmd, which would interpret parts of a URL as commands.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens a page in the browser when the command runs on a terminal; does nothing elsewhere. */
export function openPage(url: string): void {
  if (!process.stdout.isTTY) return;
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  // Without a browser, the user opens the printed URL.
  child.on('error', () => undefined);
  child.unref();
}
