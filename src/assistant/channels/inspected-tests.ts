import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Environment, formatProblem, Problems, YamlFile } from '../../config/index.ts';
import type { SavedTest, TestRunView, TestStepView } from '../../http/index.ts';
import { invalidParams } from '../../protocol/index.ts';
import type { BuildOptions } from '../build/build-assistant.ts';
import type { CaseResult, TestCase } from '../e2e/checks.ts';
import { findTests } from '../e2e/find-tests.ts';
import { nothingShared, readTestFile } from '../e2e/read-test-file.ts';
import { runTests } from '../e2e/run-tests.ts';
import type { Project } from '../project/load-project.ts';

/** Test folders of a project: Legate's, and the one of Rasa projects. */
const folders = ['tests', 'e2e_tests'];

/** Where the tests of a project are, and how to build the assistant that runs them. */
export interface TestPlaces {
  readonly directory: string;
  readonly environment: Environment;
  readonly build: BuildOptions;
}

/** Lists the tests of a project, including invalid ones: running one of those reports its errors. */
export async function savedTests({
  directory,
  environment,
}: TestPlaces): Promise<readonly SavedTest[]> {
  const tests: SavedTest[] = [];
  for (const folder of folders) {
    const path = join(directory, folder);
    if (!(await stat(path).catch(() => undefined))?.isDirectory()) continue;
    const { cases } = await findTests(path, directory, environment).catch(() => ({ cases: [] }));
    for (const { name, position } of cases) {
      tests.push({ file: relative(directory, position.file), name });
    }
  }
  return tests;
}

/** Runs one test in a separate assistant, as `legate test e2e` does. */
export async function runSavedTest(
  project: Project,
  places: TestPlaces,
  wanted: SavedTest | { readonly yaml: string },
  signal: AbortSignal,
): Promise<CaseResult> {
  const test = 'yaml' in wanted ? testIn(wanted.yaml) : await savedTest(places, wanted);
  const { environment, build } = places;
  const { results } = await runTests(project, [test], { build: { ...build, environment }, signal });
  const [result] = results;
  if (result === undefined) throw invalidParams({ field: 'test', description: 'did not run' });
  return result;
}

/** Finds a listed test. Unlisted files are never read, so a request can't read other files by their names. */
async function savedTest(places: TestPlaces, { file, name }: SavedTest): Promise<TestCase> {
  const listed = await savedTests(places);
  if (!listed.some((one) => one.file === file && one.name === name)) {
    throw invalidParams({ field: 'name', description: `there is no test "${name}" in ${file}` });
  }
  const path = join(places.directory, file);
  const { cases, problems } = await findTests(path, places.directory, places.environment);
  const test = cases.find((one) => one.name === name);
  if (test !== undefined && problems.errors.length === 0) return test;
  throw invalidTest(problems);
}

function testIn(yaml: string): TestCase {
  const problems = new Problems();
  const file = YamlFile.parse({ file: 'test.yml', text: yaml }, problems);
  const [test] = readTestFile(file, nothingShared, problems) ?? [];
  if (test !== undefined && problems.errors.length === 0) return test;
  throw invalidTest(problems);
}

function invalidTest({ errors }: Problems): Error {
  const description = errors.map(formatProblem).join('\n') || 'has no test_cases';
  return invalidParams({ field: 'test', description });
}

export function testRunView(
  { test, failures, failedAt, durationMs }: CaseResult,
  contextId: string,
): TestRunView {
  const last = failedAt === undefined ? undefined : test.steps.indexOf(failedAt);
  const steps = test.steps
    .slice(0, last === undefined ? test.steps.length : last + 1)
    .map((step): TestStepView => ({
      user: step.text,
      checks: step.checks.map(({ title }) => title),
      failures:
        step === failedAt ? failures.map(({ expected, found }) => ({ expected, found })) : [],
    }));
  const { name } = test;
  return { name, isPassed: failures.length === 0, durationMs, contextId, steps };
}
