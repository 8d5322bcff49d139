import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import {
  checkNames,
  coverageCsv,
  coverageTable,
  findTests,
  junitFile,
  resultsFile,
  runTests,
  withErrors,
} from '../assistant/index.ts';
import { formatProblem } from '../config/index.ts';
import { isJsonObject, parseJson } from '../protocol/index.ts';
import { createLogger as openLogger, type Logger } from '../telemetry/index.ts';
import { plain } from './client/text.ts';
import type { TestCommandOptions } from './commands/assistants.ts';
import type { LogLevel } from './commands/options.ts';
import { createLogger } from './logger.ts';
import { callBindings, loadFrom } from './project-files.ts';
import { printResult, printSummary, testJson, writeReport } from './test-results.ts';
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
  const isJson = options.json === true;
  const logs = new CaseLogs(options.logLevel);
  const { results, coverage } = await runTests(project, cases, {
    failFast: options.failFast === true,
    onResult: (result) => {
      const lines = logs.take();
      if (isJson) return;
      printResult(result);
      if (result.failures.length > 0) for (const line of lines) console.error(`      ${line}`);
    },
    build: { logger: logs.logger, bindings: callBindings },
  });
  const failed = results.filter(({ failures }) => failures.length > 0);
  if (isJson) {
    console.log(JSON.stringify(results.map(testJson), undefined, 2));
  } else {
    printSummary(results, cases.length);
    if (options.coverageReport === true) console.log(`\n${coverageTable(coverage)}`);
  }
  if (options.coverageOutputPath !== undefined) {
    await writeReport(join(options.coverageOutputPath, 'coverage.csv'), coverageCsv(coverage));
  }
  if (options.junit !== undefined) await writeReport(options.junit, junitFile(results));
  if (options.failedResults !== undefined) {
    await writeReport(options.failedResults, resultsFile(failed));
  }
  if (options.outputResults !== undefined) {
    const passed = results.filter(({ failures }) => failures.length === 0);
    const { outputResults: folder, resultsPrefix: prefix } = options;
    await writeReport(join(folder, `${prefix}passed.yml`), resultsFile(passed));
    await writeReport(join(folder, `${prefix}failed.yml`), resultsFile(failed));
  }
  if (failed.length > 0) process.exitCode = 1;
}

/**
 * The log lines of the running test. They are printed if the test fails, because a test can expect an action
 * to fail, and without stack traces. At the levels `debug` and `info`, every line is printed immediately.
 */
class CaseLogs {
  readonly logger: Logger;
  #lines: string[] = [];

  constructor(level: LogLevel) {
    const isKept = level !== 'debug' && level !== 'info';
    const write = (line: string): void => void this.#lines.push(shortLine(parseJson(line)));
    this.logger = isKept ? openLogger({ level, write }) : createLogger(level);
  }

  /** The lines since the last call. */
  take(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }
}

/** Maximum shown length of a field of a log line, in characters. */
const maxFieldCharacters = 200;

/** The level, the event, the reasons and the fields of a log line. */
function shortLine(line: unknown): string {
  if (!isJsonObject(line)) return '';
  const { level, event, problem, error, time: _, ...fields } = line;
  const reasons = [problem];
  for (let next = error; isJsonObject(next); next = next['cause']) reasons.push(next['message']);
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  const shown = Object.entries(fields).map(
    ([name, value]) => `${name}=${JSON.stringify(value).slice(0, maxFieldCharacters)}`,
  );
  const words = [level, event, reasons.filter(isText).join(': '), ...shown];
  return plain(words.filter(isText).join(' '));
}

/** The nearest project folder in or above the path of the tests. */
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
