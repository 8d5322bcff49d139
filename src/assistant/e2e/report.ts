import { stringify } from 'yaml';
import type { Position } from '../../config/index.ts';
import { escapeMarkup } from '../../protocol/index.ts';
import type { Flow } from '../model.ts';
import type { CaseResult } from './checks.ts';

/** The kind of failure of tests that can't run. */
export const INVALID = 'invalid test';

/**
 * The result of a conversation test or an agent test, with its failures.
 * @example const isGood = ({ failures }: ReportedTest) => failures.length === 0;
 */
export interface ReportedTest {
  readonly test: { readonly name: string; readonly position: Position };
  readonly failures: readonly {
    readonly kind: string;
    readonly check: { readonly position: Position };
    readonly expected: string;
    readonly found: readonly string[];
  }[];
  readonly failedAt?: { readonly text: string } | undefined;
  readonly durationMs: number;
}

export function place({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}

/**
 * Describes why a test failed: the location of each expectation, with the expected and the actual result.
 * @example
 * const { results } = await runTests(project, cases);
 * const failed = results.filter(({ failures }) => failures.length > 0);
 * console.log(failed.map(describeFailure).join('\n'));
 */
export function describeFailure({
  test,
  failures,
  failedAt,
}: Omit<ReportedTest, 'durationMs'>): string {
  const head = `${place(test.position)} "${test.name}"`;
  const user = failedAt === undefined ? '' : `\n  > ${JSON.stringify(failedAt.text)}`;
  const lines = failures.map(({ kind, check, expected, found }) => {
    if (kind === INVALID) return `\n  ${place(check.position)}\n  ! ${expected}`;
    const came = found.length === 0 ? ['no such event'] : found;
    return `\n  ${place(check.position)}\n  - ${expected}\n${came.map((line) => `  + ${line}`).join('\n')}`;
  });
  return head + user + lines.join('');
}

/**
 * Counts failed tests by kind of expectation, most frequent first. A test counts once for each kind.
 * @example
 * const { results } = await runTests(project, cases);
 * console.log(failureKinds(results)); // '3 bot_uttered, 1 slot_was_set, 1 invalid test'
 */
export function failureKinds(results: readonly Pick<ReportedTest, 'failures'>[]): string {
  const kinds = results.flatMap(({ failures }) => [...new Set(failures.map(({ kind }) => kind))]);
  return [...Map.groupBy(kinds, (kind) => kind)]
    .sort(([, left], [, right]) => right.length - left.length)
    .map(([kind, { length }]) => `${length} ${kind}`)
    .join(', ');
}

/**
 * The content of `passed.yml` and `failed.yml`: the names of the tests, and their failures.
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
        failures: failures.map(({ kind, check, expected, found }) => ({
          kind,
          at: place(check.position),
          expected,
          found: [...found],
        })),
      }),
    })),
  });
}

/**
 * A JUnit report for build servers.
 * @example
 * const { results } = await runTests(project, cases);
 * await writeFile('results.xml', junitFile(results));
 */
export function junitFile(results: readonly ReportedTest[]): string {
  const files = Map.groupBy(results, ({ test }) => test.position.file);
  const suites = [...files].map(([file, cases]) => {
    const errors = cases.filter(isInvalid).length;
    const failed = cases.filter(({ failures }) => failures.length > 0).length - errors;
    const time = cases.reduce((sum, { durationMs }) => sum + durationMs, 0);
    return [
      `  <testsuite name="${escape(file)}" tests="${cases.length}" failures="${failed}" errors="${errors}" time="${seconds(time)}">`,
      ...cases.map(testCase),
      '  </testsuite>',
    ].join('\n');
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>\n`;
}

function testCase(result: ReportedTest): string {
  const { test, failures, durationMs } = result;
  const open = `    <testcase name="${escape(test.name)}" classname="${escape(test.position.file)}" file="${escape(test.position.file)}" line="${test.position.line}" time="${seconds(durationMs)}"`;
  if (failures.length === 0) return `${open}/>`;
  const message = escape(failures[0]?.expected ?? '');
  const element = isInvalid(result) ? 'error' : 'failure';
  const kind = escape(failures[0]?.kind ?? '');
  return `${open}>\n      <${element} type="${kind}" message="${message}">${escape(describeFailure(result))}</${element}>\n    </testcase>`;
}

function isInvalid({ failures }: ReportedTest): boolean {
  return failures.some(({ kind }) => kind === INVALID);
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

/** Escapes text for XML. Replaces characters that XML doesn't allow. */
function escape(text: string): string {
  const allowed = text.replaceAll(
    /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu,
    '�',
  );
  return escapeMarkup(allowed);
}

/**
 * The steps of a flow that tests executed.
 * @example
 * const gaps = ({ file, missing }: FlowCoverage) => missing.map(({ line }) => `${file}:${line}`);
 */
export interface FlowCoverage {
  readonly flow: string;
  readonly file: string;
  readonly steps: number;
  readonly reached: number;
  /** Steps that no test reached, with the line of each. */
  readonly missing: readonly { readonly step: string; readonly line: number }[];
}

/** The key of an executed step, for `coverageOf`. */
export function takenStep(flowId: string, stepId: string): string {
  return JSON.stringify([flowId, stepId]);
}

/** Computes the coverage of a project's own flows. */
export function coverageOf(
  flows: ReadonlyMap<string, Flow>,
  taken: ReadonlySet<string>,
): readonly FlowCoverage[] {
  const own = [...flows.values()].filter((flow) => !flow.isPattern);
  return own.map(({ id: flow, position: { file }, steps }) => {
    const missing = [...steps.values()].filter(({ id }) => !taken.has(takenStep(flow, id)));
    return {
      flow,
      file,
      steps: steps.size,
      reached: steps.size - missing.length,
      missing: missing.map(({ id, position }) => ({ step: id, line: position.line })),
    };
  });
}

function percent({ reached, steps }: { readonly reached: number; readonly steps: number }): string {
  return steps === 0 ? '100.0' : ((100 * reached) / steps).toFixed(1);
}

/**
 * A readable coverage table, the least covered flows first.
 * @example
 * const { coverage } = await runTests(project, cases);
 * console.log(coverageTable(coverage));
 */
export function coverageTable(flows: readonly FlowCoverage[]): string {
  const share = (flow: FlowCoverage) => (flow.steps === 0 ? 1 : flow.reached / flow.steps);
  const width = Math.max(4, ...flows.map(({ flow }) => flow.length));
  const rows = [...flows]
    .sort((left, right) => share(left) - share(right) || (left.flow < right.flow ? -1 : 1))
    .map((flow) => {
      const missing = flow.missing.map(({ step, line }) => `${step}:${line}`).join(' ');
      const count = `${flow.reached}/${flow.steps}`.padStart(7);
      return `${flow.flow.padEnd(width)} ${count} ${percent(flow).padStart(6)} %  ${missing}`.trimEnd();
    });
  const total = {
    reached: flows.reduce((sum, { reached }) => sum + reached, 0),
    steps: flows.reduce((sum, { steps }) => sum + steps, 0),
  };
  const sum = `${total.reached}/${total.steps}`.padStart(7);
  return [...rows, `${'all'.padEnd(width)} ${sum} ${percent(total).padStart(6)} %`].join('\n');
}

/**
 * Coverage as CSV, one flow per line.
 * @example
 * const { coverage } = await runTests(project, cases);
 * await writeFile('coverage.csv', coverageCsv(coverage));
 */
export function coverageCsv(flows: readonly FlowCoverage[]): string {
  const rows = flows.map((flow) => [
    flow.flow,
    flow.file,
    String(flow.steps),
    String(flow.reached),
    percent(flow),
    flow.missing.map(({ step }) => step).join(' '),
    flow.missing.map(({ line }) => line).join(' '),
  ]);
  const head = ['flow', 'file', 'steps', 'reached', 'percent', 'missing_steps', 'missing_lines'];
  return `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\n')}\n`;
}

/** A CSV cell. Spreadsheets show it as text and never execute it as a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
