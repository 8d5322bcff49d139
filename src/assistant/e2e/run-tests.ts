import type { Clock } from '../../agents/index.ts';
import { createModels } from '../../models/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { readActionResult } from '../actions/remote.ts';
import type { ActionRunner } from '../actions/runner.ts';
import type { Assistant } from '../assistant.ts';
import { actionsOf } from '../build/actions.ts';
import { buildAssistant, type BuildOptions } from '../build/build-assistant.ts';
import type { TrackerEvent } from '../conversation.ts';
import type { Project } from '../project/load-project.ts';
import { slotSet } from '../tracker/events.ts';
import { Coverage, type FlowCoverage } from './coverage.ts';
import { type Judge, modelJudge } from './judge.ts';
import type { CaseResult, CheckFailure, TestCase, TestTurn, UserStep } from './model.ts';

/**
 * How tests are run.
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
  const actions = new StubbedActions(build.actions ?? (await actionsOf(project)));
  await using assistant = await buildAssistant(project, {
    // Always the first of several equal responses, so that tests are deterministic.
    random: () => 0,
    ...build,
    actions,
  });
  const judges = judgesOf(project, cases, { build, signal });
  const coverage = new Coverage(project.flows);
  const clock: Clock = build.clock ?? { now: () => Date.now() };
  const results: CaseResult[] = [];
  for (const test of cases) {
    signal.throwIfAborted();
    actions.use(test.stubs);
    const begin = clock.now();
    const judge = judges.get(test.judge?.modelGroup ?? '');
    const conversation = new TestConversation(assistant, { coverage, signal, judge });
    const outcome = await conversation.hold(test);
    const result: CaseResult = { test, ...outcome, durationMs: clock.now() - begin };
    results.push(result);
    options.onResult?.(result);
    if (options.failFast === true && result.failures.length > 0) break;
  }
  return { results, coverage: coverage.flows };
}

/** Creates only the judges that tests name. */
function judgesOf(
  { endpoints }: Project,
  cases: readonly TestCase[],
  { build, signal }: { readonly build: BuildOptions; readonly signal: AbortSignal },
): ReadonlyMap<string, Judge> {
  const { environment = process.env, logger = silentLogger } = build;
  const names = new Set(cases.map(({ judge }) => judge?.modelGroup));
  const groups = [...endpoints.modelGroups].filter(([id]) => names.has(id));
  const models = createModels(
    groups.map(([, group]) => group),
    { environment, logger },
  );
  return new Map([...models].map(([id, model]) => [id, modelJudge(model, { logger, signal })]));
}

interface Surroundings {
  readonly coverage: Coverage;
  readonly signal: AbortSignal;
  readonly judge: Judge | undefined;
}

class TestConversation {
  readonly #assistant: Assistant;
  readonly #coverage: Coverage;
  readonly #signal: AbortSignal;
  readonly #judge: Judge | undefined;
  readonly #log: TrackerEvent[] = [];
  readonly #senderId = `test-${crypto.randomUUID()}`;
  #tracker: JsonObject | undefined;

  constructor(assistant: Assistant, { coverage, signal, judge }: Surroundings) {
    this.#assistant = assistant;
    this.#coverage = coverage;
    this.#signal = signal;
    this.#judge = judge;
  }

  async hold(test: TestCase): Promise<Pick<CaseResult, 'failures' | 'failedAt'>> {
    await this.#begin(test);
    for (const step of test.steps) {
      const failures = await this.#take(step, test.isOrdered);
      if (failures.length > 0) return { failures, failedAt: step };
    }
    return { failures: [], failedAt: undefined };
  }

  async #begin({ slots, steps }: TestCase): Promise<void> {
    const senderId = this.#senderId;
    const metadata = steps[0]?.metadata ?? {};
    const begun = await this.#assistant.begin({ senderId, metadata, signal: this.#signal });
    const events = Object.entries(slots).map(([name, value]) => slotSet(name, value));
    const given = await this.#assistant.record({ senderId, tracker: begun.tracker }, events);
    this.#tracker = given.tracker;
    this.#log.push(...begun.events, ...given.events);
  }

  async #take(step: UserStep, isOrdered: boolean): Promise<readonly CheckFailure[]> {
    let events: readonly TrackerEvent[];
    try {
      const result = await this.#assistant.handle({
        senderId: this.#senderId,
        tracker: this.#tracker,
        text: step.text,
        metadata: step.metadata,
        channel: 'e2e',
        signal: this.#signal,
        onStep: (flow, id) => this.#coverage.note(flow, id),
        history: async ({ last }) => this.#log.slice(-last),
      });
      this.#tracker = result.tracker;
      this.#log.push(...result.events);
      ({ events } = result);
    } catch (error) {
      this.#signal.throwIfAborted();
      const check = { title: `user ${JSON.stringify(step.text)}`, position: step.position };
      return [{ check, expected: 'an answer', found: [String(error)] }];
    }
    const turn = { events, flows: this.#assistant.flows, judge: this.#judge };
    const failures = await judge(step, turn, isOrdered);
    this.#signal.throwIfAborted();
    return failures;
  }
}

async function judge(
  step: UserStep,
  turn: TestTurn,
  isOrdered: boolean,
): Promise<readonly CheckFailure[]> {
  let from = 0;
  const failures: CheckFailure[] = [];
  for (const check of step.checks) {
    const verdict = await check.judge(turn, from);
    if (!verdict.isTrue) {
      failures.push({ check, expected: verdict.expected, found: verdict.found });
    } else if (isOrdered && verdict.at !== undefined) from = verdict.at + 1;
  }
  return failures;
}

/** Stubs the actions that a test names; all others run normally. */
class StubbedActions implements ActionRunner {
  readonly #actions: ActionRunner | undefined;
  #stubs: ReadonlyMap<string, JsonObject> = new Map();

  constructor(actions: ActionRunner | undefined) {
    this.#actions = actions;
  }

  use(stubs: ReadonlyMap<string, JsonObject>): void {
    this.#stubs = stubs;
  }

  has(name: string): boolean {
    return this.#stubs.has(name) || this.#actions?.has(name) === true;
  }

  async run(call: Parameters<ActionRunner['run']>[0]): ReturnType<ActionRunner['run']> {
    const stub = this.#stubs.get(call.name);
    if (stub !== undefined) return readActionResult(JSON.stringify(stub), `stub of ${call.name}`);
    if (this.#actions !== undefined) return this.#actions.run(call);
    throw new Error(`no action ${call.name}: define it, or stub it in the test`);
  }
}
