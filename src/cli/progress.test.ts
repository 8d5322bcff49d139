import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, 'progress.ts');

/** Runs a wait of so long, with standard error a terminal or a pipe. */
function shown(options: {
  readonly isTerminal: boolean;
  readonly env?: NodeJS.ProcessEnv;
}): string {
  const script = `
    import { WriteStream } from 'node:tty';
    import { Progress } from ${JSON.stringify(source)};
    process.stderr.isTTY = ${options.isTerminal};
    process.stderr.columns = 80;
    process.stderr.getColorDepth = WriteStream.prototype.getColorDepth;
    {
      using progress = new Progress('Waiting');
      await new Promise((resolve) => setTimeout(resolve, 1800));
    }
    process.stderr.write('end');
  `;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...options.env },
  });
  return stderr;
}

test(
  'a wait of more than a second is told on a terminal, and leaves no trace',
  { timeout: 60_000 },
  () => {
    const text = shown({ isTerminal: true });
    expect(text).toContain('\r\u001B[K\u001B[90mWaiting … ');
    expect(text.endsWith('\r\u001B[Kend')).toBe(true);
  },
);

test('a pipe is told nothing', { timeout: 60_000 }, () => {
  expect(shown({ isTerminal: false })).toBe('end');
});

test('NO_COLOR: the line has no colour', { timeout: 60_000 }, () => {
  const text = shown({ isTerminal: true, env: { NO_COLOR: '1' } });
  expect(text).toContain('\r\u001B[KWaiting … ');
});
