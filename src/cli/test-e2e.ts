import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { styleText } from 'node:util';
import {
  type CaseResult,
  checkNames,
  coverageCsv,
  coverageTable,
  describeFailure,
  failureKinds,
  findTests,
  junitFile,
  resultsFile,
  runTests,
  withErrors,
} from '../assistant/index.ts';
import { formatProblem } from '../config/index.ts';
import type { TestCommandOptions } from './commands/assistants.ts';
import { createLogger } from './logger.ts';
import { callBindings, loadFrom } from './project-files.ts';
import { usage } from './usage.ts';

/** Runs end-to-end conversation tests and prints the failed ones. */
export async function testEndToEnd(path: string, options: TestCommandOptions): Promise<void> {
  const directory = options.project ?? projectAbove(path);
  const { project, problems } = await loadFrom(directory, options);
  problems.throwIfErrors();
  const found = await findTests(path, directory, process.env);
  checkNames(found.cases, project, found.problems);
  for (const problem of found.problems.warnings) console.error(formatProblem(problem));
  const cases = withErrors(found);
  const { results, coverage } = await runTests(project, cases, {
    failFast: options.failFast === true,
    onResult: printResult,
    build: { logger: createLogger(options.logLevel), bindings: callBindings },
  });
  const failed = results.filter(({ failures }) => failures.length > 0);
  for (const result of failed) console.log(`\n${describeFailure(result)}`);
  const left = cases.length - results.length;
  console.log(
    `\n${results.length - failed.length} passed, ${failed.length} failed${left === 0 ? '' : `, ${left} not run`}`,
  );
  if (failed.length > 0) console.log(`failed by: ${failureKinds(failed)}`);
  if (options.coverageReport === true) console.log(`\n${coverageTable(coverage)}`);
  if (options.coverageOutputPath !== undefined) {
    await write(join(options.coverageOutputPath, 'coverage.csv'), coverageCsv(coverage));
  }
  if (options.junit !== undefined) await write(options.junit, junitFile(results));
  if (options.failedResults !== undefined) {
    await write(options.failedResults, resultsFile(failed));
  }
  if (options.outputResults !== undefined) {
    const passed = results.filter(({ failures }) => failures.length === 0);
    await write(join(options.outputResults, 'passed.yml'), resultsFile(passed));
    await write(join(options.outputResults, 'failed.yml'), resultsFile(failed));
  }
  if (failed.length > 0) process.exitCode = 1;
}

function printResult({ test, failures }: CaseResult): void {
  const isGood = failures.length === 0;
  const mark = isGood ? styleText('green', 'pass') : styleText('red', 'FAIL');
  console.log(`${mark}  ${relative('.', test.position.file)} ${test.name}`);
}

/** The nearest project folder, from the tests upwards. */
function projectAbove(path: string): string {
  const tests = resolve(path.split('::', 1)[0] ?? path);
  const marks = ['config.yml', 'domain.yml', 'domain'];
  for (let folder = tests; ; folder = dirname(folder)) {
    if (marks.some((mark) => existsSync(join(folder, mark)))) return relative('.', folder) || '.';
    if (dirname(folder) === folder) break;
  }
  throw usage(
    `no project in or above ${path}: neither config.yml nor domain.yml; name its folder with --project`,
  );
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  console.error(`written: ${file}`);
}
