import type { Clock } from '../../agents/index.ts';
import type { Problem } from '../../config/index.ts';
import { createModels } from '../../models/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { readActionResult } from '../actions/remote.ts';
import type { ActionRunner } from '../actions/runner.ts';
import type { Assistant } from '../assistant.ts';
import { actionsOf } from '../build/actions.ts';
import { buildAssistant, type BuildOptions } from '../build/build-assistant.ts';
import type { Project } from '../project/load-project.ts';
import { slotSet } from '../tracker/events.ts';
import { coverageOf, type FlowCoverage, INVALID, takenStep } from './report.ts';
import { type Judge, modelJudge } from './judge.ts';
import type { CaseResult, Check, CheckFailure, TestCase, TestTurn, UserStep } from './checks.ts';

/**
 * Options of `runTests`.
 * @example
 * const options: RunTestsOptions = { failFast: true, signal: AbortSignal.timeout(120_000) };
 */
export interface RunTestsOptions {
  /** Stops at the first test that fails. @default false */
  readonly failFast?: boolean;
  /** Called after each test. */
  readonly onResult?: (result: CaseResult) => void;
  readonly build?: BuildOptions;
  readonly signal?: AbortSignal;
}

/**
 * The results of all tests.
 * @example
 * const isGreen = ({ results }: TestReport) =>
 *   results.every(({ failures }) => failures.length === 0);
 */
export interface TestReport {
  readonly results: readonly CaseResult[];
  readonly coverage: readonly FlowCoverage[];
}

/**
 * Runs end-to-end conversation tests in sequence, each in its own conversation. A test ends at the
 * first step that fails.
 * @example
 * const { cases } = await findTests('tests', '.', process.env);
 * const { results } = await runTests(project, cases);
 */
export async function runTests(
  project: Project,
  cases: readonly TestCase[],
  options: RunTestsOptions = {},
): Promise<TestReport> {
  const { build = {}, signal = new AbortController().signal } = options;
  const stubs: Stubs = { current: new Map() };
  const { environment = process.env, logger = silentLogger } = build;
  const own = build.actions ?? (await actionsOf(project, { environment, logger }));
  const actions = withStubs(own, stubs);
  await using assistant = await buildAssistant(project, {
    // Always the first variation of a response, so that tests are deterministic.
    random: () => 0,
    ...build,
    actions,
  });
  const judges = judgesOf(project, cases, { build, signal });
  const taken = new Set<string>();
  const clock: Clock = build.clock ?? { now: () => Date.now() };
  const results: CaseResult[] = [];
  for (const test of cases) {
    signal.throwIfAborted();
    stubs.current = test.stubs;
    const startedAt = clock.now();
    const judge = judges.get(test.judge?.modelGroup ?? '');
    const outcome = await runTest(test, assistant, { taken, signal, judge });
    const result: CaseResult = { test, ...outcome, durationMs: clock.now() - startedAt };
    results.push(result);
    options.onResult?.(result);
    if (options.failFast === true && result.failures.length > 0) break;
  }
  return { results, coverage: coverageOf(project.flows, taken) };
}

/** Creates only the judges that tests name. */
function judgesOf(
  { endpoints, directory }: Project,
  cases: readonly TestCase[],
  { build, signal }: { readonly build: BuildOptions; readonly signal: AbortSignal },
): ReadonlyMap<string, Judge> {
  const { environment = process.env, logger = silentLogger } = build;
  const names = new Set(cases.map(({ judge }) => judge?.modelGroup));
  const groups = [...endpoints.modelGroups].filter(([id]) => names.has(id));
  const models = createModels(
    groups.map(([, group]) => group),
    { environment, logger, directory },
  );
  return new Map([...models].map(([id, model]) => [id, modelJudge(model, { logger, signal })]));
}

interface Surroundings {
  /** Executed steps, as keys of `takenStep`. */
  readonly taken: Set<string>;
  readonly signal: AbortSignal;
  readonly judge: Judge | undefined;
}

/** Runs one test in its own conversation, up to the first step that fails. */
async function runTest(
  test: TestCase,
  assistant: Assistant,
  { taken, signal, judge }: Surroundings,
): Promise<Pick<CaseResult, 'failures' | 'failedAt' | 'events'>> {
  const { errors = [] } = test;
  if (errors.length > 0) {
    return { failures: errors.map(invalidTest), failedAt: undefined, events: [] };
  }
  const senderId = `test-${crypto.randomUUID()}`;
  const metadata = test.steps[0]?.metadata ?? {};
  const started = await assistant.start({ senderId, metadata, signal });
  const given = Object.entries(test.slots).map(([name, value]) => slotSet(name, value));
  const recorded = await assistant.record({ senderId, tracker: started.tracker }, given);
  const log = [...started.events, ...recorded.events];
  let { tracker } = recorded;
  for (const step of test.steps) {
    const request = { senderId, tracker, text: step.text, metadata: step.metadata, signal };
    let failures: readonly CheckFailure[];
    try {
      const { events, tracker: next } = await assistant.handle({
        ...request,
        channel: 'e2e',
        onStep: (flow, id) => taken.add(takenStep(flow, id)),
        history: async ({ last }) => log.slice(-last),
      });
      tracker = next;
      log.push(...events);
      failures = await failuresOf(step, { events, flows: assistant.flows, judge });
    } catch (error) {
      signal.throwIfAborted();
      const check = { title: `user ${JSON.stringify(step.text)}`, position: step.position };
      failures = [{ kind: 'error', check, expected: 'an answer', found: [String(error)] }];
    }
    signal.throwIfAborted();
    if (failures.length > 0) return { failures, failedAt: step, events: log };
  }
  return { failures: [], failedAt: undefined, events: log };
}

function invalidTest(problem: Problem): CheckFailure {
  const { message, hint, path, position } = problem;
  const expected = [path === '' ? message : `${path}: ${message}`, hint ?? []].flat().join('; ');
  return { kind: INVALID, check: { title: 'test', position }, expected, found: [] };
}

/** A title starts with the kind of the expectation. */
function kindOf({ title }: Check): string {
  return title.split(' ', 1)[0] ?? title;
}

async function failuresOf(step: UserStep, turn: TestTurn): Promise<readonly CheckFailure[]> {
  let from = 0;
  const failures: CheckFailure[] = [];
  for (const check of step.checks) {
    const verdict = await check.judge(turn, from);
    if (!verdict.isTrue) {
      const { expected, found } = verdict;
      failures.push({ kind: kindOf(check), check, expected, found });
    } else if (step.isOrdered && verdict.at !== undefined) from = verdict.at + 1;
  }
  return failures;
}

interface Stubs {
  /** Stubs of the current test, keyed by action. */
  current: TestCase['stubs'];
}

/** Stubs the actions that a test names; all others run normally. */
function withStubs(actions: ActionRunner | undefined, stubs: Stubs): ActionRunner {
  return {
    has: (name) => stubs.current.has(name) || actions?.has(name) === true,
    async run(call) {
      const stub = stubs.current.get(call.name);
      if (stub !== undefined) return readActionResult(JSON.stringify(stub), `stub of ${call.name}`);
      if (actions !== undefined) return actions.run(call);
      throw new Error(`no action ${call.name}: define it, or stub it in the test`);
    },
    close: async () => actions?.close?.(),
  };
}
