import { stringify } from 'yaml';
import type { Position } from '../../config/index.ts';
import type { CaseResult } from './model.ts';

export function place({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}

/**
 * Why a test failed: the place of each expectation, what was expected and what came instead.
 * @example
 * const { results } = await runTests(project, cases);
 * const failed = results.filter(({ failures }) => failures.length > 0);
 * console.log(failed.map(describeFailure).join('\n'));
 */
export function describeFailure({ test, failures, failedAt }: CaseResult): string {
  const head = `${place(test.position)} "${test.name}"`;
  const user = failedAt === undefined ? '' : `\n  > ${JSON.stringify(failedAt.text)}`;
  const lines = failures.map(({ check, expected, found }) => {
    const came = found.length === 0 ? ['nothing of the kind'] : found;
    return `\n  ${place(check.position)}\n  - ${expected}\n${came.map((line) => `  + ${line}`).join('\n')}`;
  });
  return head + user + lines.join('');
}

/**
 * `passed.yml` and `failed.yml`: the names of the tests, and why they failed.
 * @example
 * const { results } = await runTests(project, cases);
 * const failed = results.filter(({ failures }) => failures.length > 0);
 * await writeFile('failed.yml', resultsFile(failed));
 */
export function resultsFile(results: readonly CaseResult[]): string {
  return stringify({
    test_cases: results.map(({ test, failures }) => ({
      test_case: test.name,
      file: `${test.position.file}:${test.position.line}`,
      ...(failures.length > 0 && {
        failures: failures.map(({ check, expected, found }) => ({
          at: place(check.position),
          expected,
          found: [...found],
        })),
      }),
    })),
  });
}

/**
 * A report that build servers read.
 * @example
 * const { results } = await runTests(project, cases);
 * await writeFile('results.xml', junitFile(results));
 */
export function junitFile(results: readonly CaseResult[]): string {
  const files = Map.groupBy(results, ({ test }) => test.position.file);
  const suites = [...files].map(([file, cases]) => {
    const failed = cases.filter(({ failures }) => failures.length > 0).length;
    const time = cases.reduce((sum, { durationMs }) => sum + durationMs, 0);
    return [
      `  <testsuite name="${escape(file)}" tests="${cases.length}" failures="${failed}" errors="0" time="${seconds(time)}">`,
      ...cases.map(testCase),
      '  </testsuite>',
    ].join('\n');
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>\n`;
}

function testCase(result: CaseResult): string {
  const { test, failures, durationMs } = result;
  const open = `    <testcase name="${escape(test.name)}" classname="${escape(test.position.file)}" file="${escape(test.position.file)}" line="${test.position.line}" time="${seconds(durationMs)}"`;
  if (failures.length === 0) return `${open}/>`;
  const message = escape(failures[0]?.expected ?? '');
  return `${open}>\n      <failure message="${message}">${escape(describeFailure(result))}</failure>\n    </testcase>`;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Text for XML, without the characters that XML cannot hold at all. */
function escape(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '�')
    .replaceAll(/[&<>"']/g, (one) => entities[one] ?? one);
}
