import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Environment, type Problem, Problems, suggest, YamlFile } from '../../config/index.ts';
import {
  errorCode,
  errorMessage,
  invalidConfiguration,
  isJsonObject,
  type JsonValue,
} from '../../protocol/index.ts';
import { defaultActionNames } from '../executor/run-action.ts';
import type { Project } from '../project/load-project.ts';
import type { NameUse, TestCase } from './checks.ts';
import {
  nearest,
  nothingShared,
  readConftest,
  readTestFile,
  type Shared,
} from './read-test-file.ts';
import { place } from './report.ts';

/** The name of files with shared definitions. */
const conftest = 'conftest.yml';
const maximumDepth = 20;

export interface FoundTests {
  readonly cases: readonly TestCase[];
  readonly problems: Problems;
}

/**
 * Finds the tests of a file, of a folder and its subfolders, or a single one: `path::name`. Skips files
 * without `test_cases`. `root`: the folder with definitions shared by all tests.
 * @example
 * const { cases, problems } = await findTests('tests/transfer.yml::happy path', '.', process.env);
 */
export async function findTests(
  path: string,
  root: string,
  environment: Environment,
): Promise<FoundTests> {
  const problems = new Problems();
  const mark = path.indexOf('::');
  const place = mark < 0 ? path : path.slice(0, mark);
  const wanted = mark < 0 ? undefined : path.slice(mark + 2);
  const info = await stat(place).catch(() => undefined);
  if (info === undefined)
    throw invalidConfiguration(`there are no tests at ${place}: no such file or folder`);
  const files = info.isDirectory() ? await filesIn(place, 0) : [place];
  const sharedIn = sharedNames(resolve(root), environment, problems);
  const cases: TestCase[] = [];
  for (const file of files) {
    const yaml = YamlFile.parse({ file, text: await readFile(file, 'utf8') }, problems);
    if (info.isDirectory() && isReport(yaml.value)) continue;
    const inherited = await sharedIn(dirname(resolve(file)));
    cases.push(...(readTestFile(yaml, inherited, problems) ?? []));
  }
  if (wanted === undefined && (cases.length > 0 || problems.errors.length > 0)) {
    return { cases, problems };
  }
  const chosen = cases.filter(({ name }) => name === wanted);
  const about = new Problems();
  for (const problem of problems.all) {
    const test = testAt(cases, problem);
    if (test !== undefined && !chosen.includes(test)) continue;
    if (problem.severity === 'error') about.error(problem, problem.message, problem);
    else about.warn(problem, problem.message, problem);
  }
  if (chosen.length === 0 && about.errors.length === 0) {
    const names = cases.map(({ name }) => name).slice(0, 20);
    throw invalidConfiguration(
      wanted === undefined
        ? `there are no tests at ${place}: no file with test_cases`
        : `there is no test "${wanted}" in ${place}; there are: ${names.join(', ')}`,
    );
  }
  return { cases: chosen, problems: about };
}

/** Whether a file is a report of an earlier run: `test e2e --e2e-results` writes it next to the tests. */
function isReport(value: JsonValue): boolean {
  const cases = isJsonObject(value) ? value['test_cases'] : undefined;
  const isResult = (one: JsonValue) =>
    isJsonObject(one) && typeof one['file'] === 'string' && !('steps' in one);
  return Array.isArray(cases) && cases.length > 0 && cases.every(isResult);
}

/**
 * Adds the errors of test files to their tests: an invalid test fails, and all others run. An error
 * outside of any test becomes a failed test with the name of the file.
 * @example
 * const found = await findTests('tests', '.', process.env);
 * checkNames(found.cases, project, found.problems);
 * const { results } = await runTests(project, withErrors(found));
 */
export function withErrors({ cases, problems }: FoundTests): readonly TestCase[] {
  const byTest = Map.groupBy(problems.errors, (problem) => testAt(cases, problem));
  const elsewhere = Map.groupBy(byTest.get(undefined) ?? [], ({ position }) => position.file);
  const ofFiles = [...elsewhere].map(([file, errors]): TestCase => {
    const position = { file, line: 1, column: 1 };
    return { ...emptyTest, name: basename(file), position, errors };
  });
  const tests = cases.map((test) => {
    const errors = byTest.get(test);
    return errors === undefined ? test : { ...test, errors };
  });
  return [...tests, ...ofFiles];
}

const emptyTest = { slots: {}, steps: [], stubs: new Map(), judge: undefined };

/** The test that has a problem; undefined if the problem concerns the whole file. */
function testAt(
  cases: readonly TestCase[],
  { path, position }: Pick<Problem, 'path' | 'position'>,
): TestCase | undefined {
  if (path !== '' && !path.startsWith('test_cases')) return undefined;
  const { file, line, column } = position;
  return cases.findLast(
    ({ position: start }) =>
      start.file === file && (start.line < line || (start.line === line && start.column <= column)),
  );
}

async function filesIn(folder: string, depth: number): Promise<readonly string[]> {
  if (depth > maximumDepth) return [];
  const files: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    if (entry.isDirectory()) files.push(...(await filesIn(path, depth + 1)));
    else if (/\.ya?ml$/.test(entry.name) && entry.name !== conftest) files.push(path);
  }
  return files;
}

/**
 * Reads the definitions that the tests of a folder share: its own, on top of those of its parent folders.
 */
function sharedNames(root: string, environment: Environment, problems: Problems) {
  const known = new Map<string, Shared>();
  const of = async (folder: string): Promise<Shared> => {
    const found = known.get(folder);
    if (found !== undefined) return found;
    const parent = dirname(folder);
    const above = folder === root || parent === folder ? nothingShared : await of(parent);
    const file = join(folder, conftest);
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw invalidConfiguration(`can't read ${file}: ${errorMessage(error)}`, error);
    });
    const own =
      text && readConftest(YamlFile.parse({ file, text }, problems, { environment }), problems);
    const shared = own ? nearest(above, own) : above;
    known.set(folder, shared);
    return shared;
  };
  return of;
}

/**
 * Reports names in tests that the project doesn't have, because such a test can never fail, or never
 * pass.
 * @example
 * const { cases, problems } = await findTests('tests', '.', process.env);
 * checkNames(cases, project, problems);
 * problems.throwIfErrors();
 */
export function checkNames(
  cases: readonly TestCase[],
  { domain, flows, endpoints }: Project,
  problems: Problems,
): void {
  const names: Readonly<Record<NameUse['kind'], ReadonlySet<string>>> = {
    slot: new Set(domain.slots.keys()),
    flow: new Set(flows.keys()),
    response: new Set(domain.responses.keys()),
    action: new Set([...domain.actions.keys(), ...domain.responses.keys(), ...defaultActionNames]),
  };
  const check = ({ kind, name }: NameUse, position: TestCase['position']) => {
    if (names[kind].has(name)) return;
    problems.error({ position, path: '' }, `there is no ${kind} "${name}" in the project`, {
      hint: suggest(name, names[kind]),
    });
  };
  const judges = new Map(
    cases.flatMap(({ judge }) => (judge === undefined ? [] : [[place(judge.position), judge]])),
  );
  for (const { modelGroup, position } of judges.values()) {
    if (endpoints.modelGroups.has(modelGroup)) continue;
    const problem = `there is no model group "${modelGroup}" in endpoints.yml`;
    const hint = suggest(modelGroup, endpoints.modelGroups.keys());
    problems.error({ position, path: 'llm_judge.llm.model_group' }, problem, { hint });
  }
  for (const test of cases) {
    for (const name of Object.keys(test.slots)) check({ kind: 'slot', name }, test.position);
    for (const name of test.stubs.keys()) check({ kind: 'action', name }, test.position);
    for (const { uses, position } of test.steps.flatMap((step) => step.checks)) {
      for (const use of uses) check(use, position);
    }
  }
}
