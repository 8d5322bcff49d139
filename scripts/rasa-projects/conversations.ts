import {
  type ActionRunner,
  type CaseResult,
  type Project,
  runTests,
  type TestCase,
} from '../../src/assistant/index.ts';
import { parseCommands } from '../../src/assistant/generators/llm/parse-commands.ts';
import { possibleAnswers } from './answers.ts';
import { ActionLog } from './failure-reason.ts';

/** Conversations that are tried for one test before it fails. */
const MAX_ATTEMPTS = 300;

interface Question {
  /** The step whose message the model was called for. */
  readonly step: number;
  /** The number of possible answers. */
  readonly answers: number;
}

interface Attempt {
  readonly result: CaseResult;
  /** Warnings and errors of the turns. */
  readonly lines: readonly string[];
  readonly questions: readonly Question[];
  /** The step that failed. */
  readonly failedAt: number;
}

/**
 * Runs a test with the first sequence of answers that meets its expectations. If there is none, returns
 * the attempt that got furthest.
 */
export async function converse(
  project: Project,
  test: TestCase,
  actions: ActionRunner | undefined,
): Promise<Pick<Attempt, 'result' | 'lines'>> {
  let choices: readonly number[] = [];
  let best: Attempt | undefined;
  for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
    const attempt = await tryOnce(project, test, { choices, actions });
    if (attempt.result.failures.length === 0) return attempt;
    if (best === undefined || isBetter(attempt, best)) best = attempt;
    const next = nextChoices(attempt, choices);
    if (next === undefined) break;
    choices = next;
  }
  if (best === undefined) throw new Error(`${test.name} was not run`);
  return best;
}

/** Changes the last answer that the failed step depends on, or the one before it if all were tried. */
function nextChoices(
  { questions, failedAt }: Attempt,
  choices: readonly number[],
): readonly number[] | undefined {
  const asked = questions.filter(({ step }) => step <= failedAt);
  const taken = asked.map((_, at) => choices[at] ?? 0);
  for (let at = taken.length - 1; at >= 0; at -= 1) {
    const following = (taken[at] ?? 0) + 1;
    if (following < (asked[at]?.answers ?? 0)) return [...taken.slice(0, at), following];
  }
  return undefined;
}

function isBetter(one: Attempt, other: Attempt): boolean {
  if (one.failedAt !== other.failedAt) return one.failedAt > other.failedAt;
  return one.result.failures.length < other.result.failures.length;
}

async function tryOnce(
  project: Project,
  test: TestCase,
  {
    choices,
    actions,
  }: {
    readonly choices: readonly number[];
    readonly actions: ActionRunner | undefined;
  },
): Promise<Attempt> {
  const questions: Question[] = [];
  const log = new ActionLog();
  let from = 0;
  const { results } = await runTests(project, [test], {
    build: {
      ...(actions !== undefined && { actions }),
      callHandlers: [],
      logger: log.logger,
      generator: {
        name: 'derived',
        async generate(input) {
          const step = test.steps.findIndex(
            ({ text }, at) => at >= from && text.trim() === input.text,
          );
          from = step + 1;
          const answers = possibleAnswers(input, test.steps.slice(step));
          const answer = answers[choices[questions.length] ?? 0] ?? '';
          questions.push({ step, answers: answers.length });
          return parseCommands(answer, { flows: input.allFlows, domain: input.domain });
        },
      },
    },
  });
  const [result] = results;
  if (result === undefined) throw new Error(`${test.name} was not run`);
  const { failedAt } = result;
  return {
    result,
    lines: log.lines,
    questions,
    failedAt: failedAt === undefined ? test.steps.length : test.steps.indexOf(failedAt),
  };
}
