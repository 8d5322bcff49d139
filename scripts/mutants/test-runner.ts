/**
 * Runs selected test files of a checkout in one long-lived process, so that mutants share the start of
 * Vitest and its transformed modules. Receives { changed, rounds } and responds with the first failure of
 * the rounds, which run in order.
 */
import { join, resolve } from 'node:path';
import { createVitest } from 'vitest/node';
import type { TestAnswer, TestRequest } from './test-request.ts';

const vitest = await createVitest('test', {
  watch: true,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
  // On a slow machine, tests that compare times fail without a mutant.
  exclude: ['test/replicas/**', 'test/simulation/**'],
});
await vitest.standalone();
// The parent announces changes.
await vitest.vite.watcher.close();
const specifications = await vitest.globTestSpecifications();

async function failureOf(round: readonly string[]): Promise<string | undefined> {
  const files = new Set(round.map((file) => resolve(file)));
  const chosen = specifications.filter(({ moduleId }) => files.has(moduleId));
  if (chosen.length === 0) return undefined;
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(chosen);
  // Vitest reports modules of earlier runs, too.
  for (const module of testModules.filter(({ moduleId }) => files.has(moduleId))) {
    for (const test of module.children.allTests('failed'))
      return `${test.fullName}: ${test.result().errors?.[0]?.message.split('\n')[0]}`;
    if (!module.ok()) return `${module.relativeModuleId}: ${module.errors()[0]?.message}`;
  }
  return unhandledErrors.length > 0 ? `unhandled: ${String(unhandledErrors[0])}` : undefined;
}

async function firstFailure(rounds: readonly (readonly string[])[]): Promise<TestAnswer> {
  vitest.state.clearErrors();
  for (const round of rounds) {
    const failure = await failureOf(round);
    if (failure !== undefined) return { failure };
  }
  return {};
}

process.on('message', (message: TestRequest) => {
  const changed = join(process.cwd(), message.changed);
  vitest.invalidateFile(changed);
  void firstFailure(message.rounds).then((answer) => {
    vitest.invalidateFile(changed);
    process.send?.(answer);
  });
});
process.send?.('ready');
