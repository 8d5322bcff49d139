import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import {
  type ActionRunner,
  buildAssistant,
  checkNames,
  checkProject,
  describeFailure,
  findTests,
  type LoadedProject,
  loadProject,
  type Project,
  withErrors,
} from '../../src/assistant/index.ts';
import { formatProblem } from '../../src/config/index.ts';
import { actionsOf } from '../../src/assistant/build/actions.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { errorMessage } from '../../src/protocol/index.ts';
import { converse } from './conversations.ts';
import { ActionLog, failureReason, nluComponents } from './failure-reason.ts';

export interface Outcome {
  readonly name: string;
  readonly loads: boolean;
  readonly starts: boolean;
  readonly flows: number;
  readonly tests: number;
  readonly passed: number;
  /** The reasons why it does not load or start. */
  readonly reasons: readonly string[];
  readonly failures: readonly Failure[];
}

/** A failed test. */
export interface Failure {
  readonly name: string;
  /** In one line. */
  readonly reason: string;
  /** The expectation and the actual result. */
  readonly text: string;
}

/** Placeholders for keys and URLs of services in projects; the script calls none of them. */
const environment = new Proxy(process.env, {
  get: (known, name) => (typeof name === 'string' ? (known[name] ?? 'placeholder') : undefined),
  has: () => true,
  getOwnPropertyDescriptor: (known, name) => ({
    value: typeof name === 'string' ? (known[name] ?? 'placeholder') : undefined,
    configurable: true,
    enumerable: true,
  }),
});

/** How to try a project. */
export interface TryOptions {
  /** A folder with tests inside the project. @default the project */
  readonly tests?: string | undefined;
  /** Whether unset variables get a placeholder for the start, too. @default false */
  readonly env?: boolean | undefined;
}

export async function tryProject(directory: string, options: TryOptions): Promise<Outcome> {
  const named = ['config.yml', 'config/config.yml'].map((name) => join(directory, name));
  const places = { directory, config: named.find((file) => existsSync(file)) };
  const given = await loadProject(places, options.env === true ? environment : process.env);
  await checkProject(given, process.env);
  const log = new ActionLog();
  await using actions = await openActions(given, log);
  const isLoadable = given.problems.errors.every(({ isFatal }) => isFatal === false);
  const startProblem = isLoadable ? await startProblemOf(given.project, actions) : undefined;
  const outcome = {
    name: `${basename(dirname(resolve(directory)))}/${basename(resolve(directory))}`,
    loads: given.problems.errors.length === 0,
    starts: isLoadable && startProblem === undefined,
    flows: [...given.project.flows.values()].filter((flow) => !flow.isPattern).length,
    reasons: [
      ...given.problems.errors.map(formatProblem),
      ...(startProblem === undefined ? [] : [startProblem]),
    ],
  };
  // Tests call no service, so the keys of services need not be set.
  const { project: loaded } = await loadProject(places, environment);
  const project = withoutServices(loaded);
  const nlu = nluComponents(given.project.config.components);
  const cases = await testsOf(project, join(directory, options.tests ?? '.'));
  const failures: Failure[] = [];
  for (const test of cases) {
    const from = log.lines.length;
    const { result, lines } = await converse(project, test, actions.runner);
    if (result.failures.length === 0) continue;
    const about = { nlu, lines: [...actions.problems, ...log.lines.slice(from), ...lines] };
    failures.push({
      name: test.name,
      reason: failureReason(result, about),
      text: describeFailure(result),
    });
  }
  return { ...outcome, tests: cases.length, passed: cases.length - failures.length, failures };
}

interface OpenActions extends AsyncDisposable {
  readonly runner: ActionRunner | undefined;
  /** The errors that prevent actions from running. */
  readonly problems: readonly string[];
}

async function openActions({ project }: LoadedProject, log: ActionLog): Promise<OpenActions> {
  const { endpoints } = project;
  // For the tests, the script starts an action server that the project expects elsewhere.
  const actionEndpoint = endpoints.actionEndpoint && {
    ...endpoints.actionEndpoint,
    url: undefined,
  };
  const local = { ...project, endpoints: { ...endpoints, actionEndpoint } };
  try {
    const runner = await actionsOf(local, { environment: process.env, logger: log.logger });
    return {
      runner: runner && { has: runner.has.bind(runner), run: runner.run.bind(runner) },
      problems: [],
      [Symbol.asyncDispose]: async () => runner?.close?.(),
    };
  } catch (error) {
    const problems = [errorMessage(error)];
    return { runner: undefined, problems, [Symbol.asyncDispose]: async () => undefined };
  }
}

/** The reason why `legate run` would not start the project; undefined if it would. */
async function startProblemOf(
  project: Project,
  { runner, problems: [problem] }: OpenActions,
): Promise<string | undefined> {
  if (problem !== undefined && project.endpoints.actionEndpoint?.url === undefined) return problem;
  try {
    await using _assistant = await buildAssistant(project, {
      ...(runner !== undefined && { actions: runner }),
      callHandlers: [],
      environment: process.env,
      logger: silentLogger,
    });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Removes services: model answers are derived, and the script starts action servers itself. */
function withoutServices(project: Project): Project {
  const endpoints = { ...project.endpoints, nlg: undefined, modelGroups: new Map() };
  return { ...project, endpoints: { ...endpoints, actionEndpoint: undefined } };
}

async function testsOf(project: Project, folder: string) {
  const found = await findTests(folder, project.directory, environment).catch(() => undefined);
  if (found === undefined) return [];
  checkNames(found.cases, project, found.problems);
  return withErrors(found).filter(({ steps }) => steps.length > 0);
}
