import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { styleText } from 'node:util';
import { describeFailure, failureKinds, type ReportedTest } from '../assistant/index.ts';

/** One result in the output of `legate test --json`. */
export interface TestJson {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly passed: boolean;
  readonly durationMs: number;
  /** The kinds of failures; only for failed tests. */
  readonly kinds?: string;
  readonly reason?: string;
}

export function testJson(result: ReportedTest): TestJson {
  const { test, failures, durationMs } = result;
  const { file, line } = test.position;
  const passed = failures.length === 0;
  const more = passed ? {} : { kinds: failureKinds([result]), reason: describeFailure(result) };
  return { file: relative('.', file), line, name: test.name, passed, durationMs, ...more };
}

export function printResult({ test, failures }: ReportedTest): void {
  const mark = failures.length === 0 ? styleText('green', 'pass') : styleText('red', 'FAIL');
  console.log(`${mark}  ${relative('.', test.position.file)} ${test.name}`);
}

/** Prints the failed tests and how many passed; `count` includes tests that were not run. */
export function printSummary(results: readonly ReportedTest[], count: number): void {
  const failed = results.filter(({ failures }) => failures.length > 0);
  for (const result of failed) console.log(`\n${describeFailure(result)}`);
  const left = count - results.length;
  console.log(
    `\n${results.length - failed.length} passed, ${failed.length} failed${left === 0 ? '' : `, ${left} not run`}`,
  );
  if (failed.length > 0) console.log(`failed by: ${failureKinds(failed)}`);
}

export async function writeReport(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  console.error(`written: ${file}`);
}
