import { spawn } from 'node:child_process';

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  // Not through cmd, which would interpret parts of a URL as commands.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens a page in the browser if the command runs on a terminal with a desktop. `BROWSER=none` disables it,
 * as in other development servers.
 */
export function openPage(url: string): void {
  if (!process.stdout.isTTY || !hasDesktop()) return;
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  // Without a browser, the user opens the printed URL.
  child.on('error', () => undefined);
  child.unref();
}

function hasDesktop({ env, platform } = process): boolean {
  if (env['BROWSER'] === 'none') return false;
  const isHeadless = env['DISPLAY'] === undefined && env['WAYLAND_DISPLAY'] === undefined;
  return platform === 'darwin' || platform === 'win32' || !isHeadless;
}
