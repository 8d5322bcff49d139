import { mkdir } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { type Agent, modelLoader } from '../../agents/index.ts';
import { modelJudge, type ReportedTest } from '../../assistant/index.ts';
import { inModelScope, recordedModel, scriptedModel } from '../../models/index.ts';
import { errorMessage, isJsonObject, type JsonValue, parseJsonOr } from '../../protocol/index.ts';
import { type InvocationResult, Runner } from '../../tasks/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import type { EvaluationCase, ExpectedCall } from './read-cases.ts';

/** An actual tool call of a model. */
interface MadeCall {
  readonly tool: string;
  readonly input: JsonValue;
}

/** The result of a case. */
export interface EvaluationResult extends ReportedTest {
  readonly test: EvaluationCase;
  readonly calls: readonly MadeCall[];
  readonly answer: string;
}

export interface RunCaseOptions {
  readonly mode: 'auto' | 'live' | 'record' | 'replay';
  readonly logger: Logger;
  /** Ends the turn of one message. @default after five minutes */
  readonly limit?: () => AbortSignal;
}

const judgeName = 'judge';
/** Timeout of one message, in milliseconds. */
const timeoutMs = 300_000;

/** Runs the conversation of a case in a new session, and compares the result. */
export async function runCase(
  agent: Agent,
  test: EvaluationCase,
  { mode, logger, limit = () => AbortSignal.timeout(timeoutMs) }: RunCaseOptions,
): Promise<EvaluationResult> {
  const startedAt = performance.now();
  const calls: MadeCall[] = [];
  const models = new Map<string, Promise<LanguageModelV4>>();
  const script = test.script === undefined ? undefined : scriptedModel(test.script);
  const scope = async (owner: string, load: () => Promise<LanguageModelV4>) => {
    // Calls of the judge are neither part of the trajectory nor scripted.
    const replaced = owner === judgeName ? undefined : script;
    let model = models.get(owner);
    if (model === undefined) {
      model =
        replaced === undefined
          ? modelIn(mode, recordingOf(test, owner), load)
          : Promise.resolve(replaced);
      models.set(owner, model);
    }
    return owner === judgeName ? model : observed(await model, (call) => calls.push(call));
  };
  return inModelScope(scope, async () => {
    const { answer, state, error } = await converse(agent, test, limit);
    const findings = [...differences(test, { answer, state, error, calls })];
    try {
      findings.push(...(await missingFacts(test, answer, logger)));
    } catch (failure) {
      const found = [errorMessage(failure)];
      findings.push({ kind: 'judge', expected: 'the judge answers', found });
    }
    const check = { position: test.position };
    const failures = findings.map((each) => ({ ...each, check }));
    return { test, failures, durationMs: performance.now() - startedAt, calls, answer };
  });
}

function recordingOf({ position, name }: EvaluationCase, owner: string): string {
  const stem = basename(position.file).replace(/\.ya?ml$/, '');
  return join(dirname(position.file), 'recordings', `${stem}.${slug(name)}.${slug(owner)}.json`);
}

async function modelIn(
  mode: RunCaseOptions['mode'],
  file: string,
  load: () => Promise<LanguageModelV4>,
): Promise<LanguageModelV4> {
  if (mode === 'replay' || (mode === 'auto' && existsSync(file))) {
    // Without its key the model can't be created; the recording has its answers.
    return recordedModel(await load().catch(() => undefined), file, 'replay');
  }
  if (mode !== 'record') return load();
  await mkdir(dirname(file), { recursive: true });
  return recordedModel(await load(), file, 'record');
}

async function converse(agent: Agent, { input }: EvaluationCase, limit: () => AbortSignal) {
  const runner = new Runner({ agent, logger: silentLogger });
  const sessionId = crypto.randomUUID();
  let result: InvocationResult | undefined;
  for (const message of input) {
    const signal = limit();
    const isAsked = result?.state === 'input-required' || result?.state === 'auth-required';
    const invocation =
      isAsked && result !== undefined
        ? await runner.resume(result.invocationId, message, { signal })
        : runner.start({ message, sessionId, userId: 'evaluation', signal });
    result = await invocation.result();
  }
  return { answer: result?.text ?? '', state: result?.state ?? 'failed', error: result?.error };
}

type Finding = Omit<ReportedTest['failures'][number], 'check'>;

function differences(
  test: EvaluationCase,
  seen: {
    readonly answer: string;
    readonly state: string;
    readonly error: unknown;
    readonly calls: readonly MadeCall[];
  },
): readonly Finding[] {
  const { answer, state, error, calls } = seen;
  const findings: Finding[] = [];
  if (state !== test.state) {
    const why = error instanceof Error ? [error.message] : [];
    const found = [`it is ${state}`, ...why, ...(answer === '' ? [] : [answer])];
    findings.push({ kind: 'state', expected: `the task is ${test.state}`, found });
  }
  if (test.tools !== undefined && !isMet(test.tools, calls, test.match)) {
    const expected = `calls of tools (${test.match}): ${test.tools.map(wordsOf).join(', ') || 'none'}`;
    findings.push({ kind: 'tools', expected, found: [calls.map(wordsOf).join(', ') || 'none'] });
  }
  const has = (text: string) => answer.toLowerCase().includes(text.toLowerCase());
  for (const text of test.contains.filter((each) => !has(each)))
    findings.push({ kind: 'contains', expected: `the answer has "${text}"`, found: [answer] });
  for (const text of test.excludes.filter(has))
    findings.push({ kind: 'excludes', expected: `the answer lacks "${text}"`, found: [answer] });
  return findings;
}

/** Judges each fact: the answer states it if the fact is grounded in the answer. */
async function missingFacts(
  { judge: source, facts, input }: EvaluationCase,
  answer: string,
  logger: Logger,
): Promise<readonly Finding[]> {
  if (source === undefined || facts.length === 0) return [];
  const model = await modelLoader(judgeName, source)();
  const judge = modelJudge(model, { logger, signal: AbortSignal.timeout(timeoutMs) });
  const findings: Finding[] = [];
  for (const fact of facts) {
    const user = input.join('\n');
    const judged = await judge.judge({ kind: 'grounded', user, answer: fact, truth: answer });
    if (judged.score === 1) continue;
    const found = [answer, ...judged.faults];
    findings.push({ kind: 'facts', expected: `the answer states: ${fact}`, found });
  }
  return findings;
}

/** Whether the calls match: exactly these, these among others in this order, or in any order. */
export function isMet(
  expected: readonly ExpectedCall[],
  calls: readonly MadeCall[],
  match: EvaluationCase['match'],
): boolean {
  if (match === 'exact' && expected.length !== calls.length) return false;
  if (match === 'any_order') return isMetInAnyOrder(expected, calls);
  const left = [...calls];
  return expected.every((wanted) => {
    const at = match === 'exact' ? 0 : left.findIndex((call) => isSame(wanted, call));
    const call = left[at];
    if (call === undefined || !isSame(wanted, call)) return false;
    left.splice(0, at + 1);
    return true;
  });
}

/**
 * Whether every expected call can have an actual call of its own: a bipartite matching by augmenting
 * paths. An expected call that accepts any input gives up its call if it can have another one.
 */
function isMetInAnyOrder(expected: readonly ExpectedCall[], calls: readonly MadeCall[]): boolean {
  const holders = new Map<number, ExpectedCall>();
  const assign = (wanted: ExpectedCall, tried: Set<number>): boolean =>
    calls.some((call, at) => {
      if (tried.has(at) || !isSame(wanted, call)) return false;
      tried.add(at);
      const holder = holders.get(at);
      if (holder !== undefined && !assign(holder, tried)) return false;
      holders.set(at, wanted);
      return true;
    });
  return expected.every((wanted) => assign(wanted, new Set()));
}

function isSame({ tool, input }: ExpectedCall, call: MadeCall): boolean {
  return tool === call.tool && (input === undefined || includes(call.input, input));
}

/** Whether the actual value has the expected values. Objects can have additional keys. */
function includes(actual: JsonValue | undefined, expected: JsonValue): boolean {
  if (!isJsonObject(expected) || !isJsonObject(actual)) return isDeepStrictEqual(actual, expected);
  return Object.entries(expected).every(([key, value]) => includes(actual[key], value));
}

/** Reports the tool calls in the model's answers. */
function observed(model: LanguageModelV4, onCall: (call: MadeCall) => void): LanguageModelV4 {
  const look = (part: LanguageModelV4Content | LanguageModelV4StreamPart): void => {
    if (part.type === 'tool-call') onCall({ tool: part.toolName, input: inputOf(part.input) });
  };
  // Inherits the other properties of the model, such as support for structured output.
  const own: LanguageModelV4 = Object.create(model);
  return Object.defineProperties(own, {
    doGenerate: {
      value: async (call: LanguageModelV4CallOptions) => {
        const answer = await model.doGenerate(call);
        answer.content.forEach(look);
        return answer;
      },
    },
    doStream: {
      value: async (call: LanguageModelV4CallOptions) => {
        const answer = await model.doStream(call);
        const watch = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
          transform(part, controller) {
            look(part);
            controller.enqueue(part);
          },
        });
        return { ...answer, stream: answer.stream.pipeThrough(watch) };
      },
    },
  });
}

function inputOf(text: string): JsonValue {
  return text === '' ? {} : parseJsonOr(text, text);
}

function wordsOf({
  tool,
  input,
}: {
  readonly tool: string;
  readonly input: JsonValue | undefined;
}): string {
  return input === undefined ? tool : `${tool}(${JSON.stringify(input)})`;
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 80);
}
