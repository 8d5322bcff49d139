import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import {
  buildAssistant,
  checkNames,
  describeFailure,
  findTests,
  loadProject,
  type Project,
  withErrors,
} from '../../src/assistant/index.ts';
import { formatProblem } from '../../src/config/index.ts';
import { actionsOf } from '../../src/assistant/build/actions.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { converse } from './conversations.ts';

export interface Outcome {
  readonly name: string;
  readonly loads: boolean;
  readonly starts: boolean;
  readonly flows: number;
  readonly tests: number;
  readonly passed: number;
  /** Why it does not load or start. */
  readonly reasons: readonly string[];
  /** Why tests failed. */
  readonly failures: readonly string[];
}

/** Keys and addresses of services that projects name; none of them is called. */
const environment = new Proxy(process.env, {
  get: (known, name) => (typeof name === 'string' ? (known[name] ?? 'placeholder') : undefined),
  has: () => true,
  getOwnPropertyDescriptor: (known, name) => ({
    value: typeof name === 'string' ? (known[name] ?? 'placeholder') : undefined,
    configurable: true,
    enumerable: true,
  }),
});

export async function tryProject(
  directory: string,
  options: { readonly tests?: string | undefined },
): Promise<Outcome> {
  const named = ['config.yml', 'config/config.yml'].map((name) => join(directory, name));
  const config = named.find((file) => existsSync(file));
  const { project: loaded, problems } = await loadProject({ directory, config }, environment);
  const project = withoutServices(loaded);
  const reasons = problems.errors.map(formatProblem);
  const outcome = {
    name: `${basename(dirname(resolve(directory)))}/${basename(resolve(directory))}`,
    loads: problems.errors.length === 0,
    flows: [...project.flows.values()].filter((flow) => !flow.isPattern).length,
  };
  try {
    const actions = await actionsOf(project, { environment: process.env, logger: silentLogger });
    await using _closing = { [Symbol.asyncDispose]: async () => actions?.close?.() };
    const shared = actions && { has: actions.has.bind(actions), run: actions.run.bind(actions) };
    await using _assistant = await buildAssistant(project, {
      ...(shared !== undefined && { actions: shared }),
      callHandlers: [],
      logger: silentLogger,
    });
    const failures: string[] = [];
    const cases = await testsOf(project, join(directory, options.tests ?? '.'));
    for (const test of cases) {
      const result = await converse(project, test, shared);
      if (result.failures.length > 0) failures.push(describeFailure(result));
    }
    const passed = cases.length - failures.length;
    return { ...outcome, starts: true, tests: cases.length, passed, reasons, failures };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      ...outcome,
      starts: false,
      tests: 0,
      passed: 0,
      reasons: [...reasons, why],
      failures: [],
    };
  }
}

/** Answers of models are derived, and action servers are started here. */
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
