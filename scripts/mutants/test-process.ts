import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { TestAnswer, TestRequest } from './test-request.ts';

/** Tests that take longer are in an endless loop, which only killing the process stops. */
const HUNG_AFTER_MS = 5 * 60_000;

export interface TestResult {
  readonly outcome: 'killed' | 'SURVIVED' | 'hung';
  /** The first failed test. On a busy machine, a timeout may not be caused by the mutant. */
  readonly failure?: string;
}

export interface TestProcess {
  run(request: TestRequest): Promise<TestResult>;
  stop(): void;
}

/** Starts the process that runs the tests of a checkout. It keeps transformed modules between runs. */
export async function startTests(checkout: string, databaseUrl: string): Promise<TestProcess> {
  const child = fork(join(import.meta.dirname, 'test-runner.ts'), {
    cwd: checkout,
    env: { ...process.env, DATABASE_URL: databaseUrl },
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await message(child);
  const stop = (): void => {
    // The workers of the tests belong to its process group.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  return {
    stop,
    async run(request) {
      const timer = setTimeout(stop, HUNG_AFTER_MS);
      child.send(request);
      const answer = await message(child);
      clearTimeout(timer);
      if (answer === undefined) return { outcome: 'hung' };
      return { outcome: answer.failure === undefined ? 'SURVIVED' : 'killed', ...answer };
    },
  };
}

/** The next message of the child, or undefined if it exits first. */
function message(child: ChildProcess): Promise<TestAnswer | undefined> {
  return new Promise((resolve) => {
    const settle = (answer: TestAnswer | undefined): void => {
      child.off('message', settle).off('exit', exited);
      resolve(answer);
    };
    const exited = (): void => settle(undefined);
    child.once('message', settle).once('exit', exited);
  });
}
