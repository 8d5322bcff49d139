import { checkFiles } from '../net/index.ts';
import { RestartFiles } from './restart-files.ts';

/**
 * Resolves on the first SIGINT or SIGTERM; the second exits immediately. SIGHUP reads changed key files,
 * fetches keys from their URLs, and prints the changed files of `configuration` (files and folders), which
 * need a restart. On a terminal, SIGHUP means that the terminal was closed, and stops the process like
 * SIGTERM.
 */
export function untilSignal(configuration: readonly string[] = []): Promise<void> {
  const files = new RestartFiles(configuration);
  const isOnTerminal = process.stdin.isTTY;
  return new Promise((resolve) => {
    const reload = (): void => void reportReload(files);
    const stop = (): void => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.removeListener(signal, stop);
        process.once(signal, () => process.exit(130));
      }
      // Without a terminal, the reload handler stays: an unhandled SIGHUP would interrupt the drain.
      if (isOnTerminal) process.removeListener('SIGHUP', stop);
      resolve();
    };
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
    process.removeListener('SIGHUP', ignored);
    process.on('SIGHUP', isOnTerminal ? stop : reload);
  });
}

/** Keeps SIGHUP from killing a process during its start. `untilSignal` handles later signals. */
export function ignoreHangup(): void {
  if (!process.stdin.isTTY) process.on('SIGHUP', ignored);
}

function ignored(): void {
  console.error('SIGHUP: the process is starting, and reads all files anyway');
}

async function reportReload(files: RestartFiles): Promise<void> {
  const checks = await checkFiles();
  const lines = checks.map(({ what, paths, outcome, error }) => {
    const state =
      outcome === 'failed' ? `not usable, the former ones stay in use: ${error}` : outcome;
    return `  ${what} (${paths.join(', ')}): ${state}`;
  });
  const restart = files
    .changes()
    .map(({ path, change }) => `  ${path} ${change}: restart to apply it`);
  const nothing = lines.length + restart.length === 0 ? ['  nothing to reload'] : [];
  console.error(['SIGHUP:', ...lines, ...restart, ...nothing].join('\n'));
}
