import {
  type JsonObject,
  type JsonValue,
  LegateError,
  type Message,
} from '../../protocol/index.ts';
import { counter, endSpan, inSpan, startSpan } from '../../telemetry/index.ts';
import { type DeadlineOptions, within } from '../../time/index.ts';
import type { Turn } from '../agent.ts';
import { sessionOf } from '../sessions/passing-session.ts';
import type { Credential } from '../tools/credentials.ts';
import type { Tool, ToolContext } from '../tools/tool.ts';
import { ToolPause } from '../tools/tool-pause.ts';
import type { Utterance } from '../turn-output.ts';
import { answered, type Ask, type CallState, isDone } from './call-state.ts';
import type { CallOutput } from './conversation.ts';
import type { LlmSettings } from './options.ts';
import { addUsage, noUsage, type Usage } from '../usage.ts';

export interface CallRunnerOptions {
  readonly settings: LlmSettings;
  readonly turn: Turn;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Ends with the turn, or when nobody listens any more. */
  readonly signal: AbortSignal;
  readonly say: (event: Utterance) => Promise<void>;
}

/** Of one answer of the model. */
const mostCalls = 128;
/** Asking for the same consent again and again helps nobody. */
const mostConsents = 5;

/**
 * Carries out the calls of a step as far as it goes: to their outputs, or to questions.
 *
 * A call runs at most once. The turn that runs it either comes to its end, which saves the output,
 * or it does not; then it never runs again, unless its agent says `onInterrupted: 'run-again'`. For
 * that case the turn has a journal: the start of a call is noted before the tool is called and its
 * output after, so the repeated turn takes a noted output as it is, and does not start again what
 * was started without an output, but tells the model so. Tools that are `isIdempotent` are run again.
 */
export class CallRunner {
  readonly #options: CallRunnerOptions;
  /** A tool asked to end the turn after this step. */
  endsTurn = false;
  escalates = false;
  /** What models cost that tools asked. */
  usage: Usage = noUsage;

  constructor(options: CallRunnerOptions) {
    this.#options = options;
  }

  /** Moves every open call on, several at a time. */
  async advance(
    calls: readonly CallState[],
    step: number,
    answer?: { readonly message: Message; readonly resuming: readonly string[] },
  ): Promise<readonly CallState[]> {
    const { signal, settings } = this.#options;
    const results = [...calls];
    const queue = [...calls.entries()];
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [index, call] = next;
        const key = `call ${step}.${index}`;
        if (index >= mostCalls) {
          results[index] = fail(call, `only ${mostCalls} calls are carried out in one step`);
          continue;
        }
        const resumes = answer?.resuming.includes(call.id) === true ? answer.message : undefined;
        results[index] = await this.#advance(call, key, resumes);
        signal.throwIfAborted();
      }
    };
    const workers = Math.min(settings.maxParallelTools, queue.length);
    await Promise.all(Array.from({ length: workers }, worker));
    return results;
  }

  async #advance(call: CallState, key: string, answer: Message | undefined): Promise<CallState> {
    if (isDone(call) || (call.ask !== undefined && answer === undefined)) return call;
    const tool = this.#options.tools.get(call.name);
    if (tool === undefined) return fail(call, `there is no tool named "${call.name}"`);
    if (call.problem !== undefined) return fail(call, call.problem);
    const parsed = await tool.parse(call.input);
    if (!parsed.ok) return fail(call, `the input is not valid: ${parsed.problem}`);
    try {
      return await this.#attempt({ call, key, tool, input: parsed.value, answer });
    } catch (error) {
      this.#options.signal.throwIfAborted();
      this.#options.turn.logger.warn({ tool: call.name, error }, 'agents.tool.failed');
      return fail(call, reasonOf(error));
    }
  }

  async #attempt(attempt: Attempt): Promise<CallState> {
    const { call, tool, input, answer } = attempt;
    const context = this.#context(call);
    if (answer === undefined && call.isConfirmed !== true) {
      const words = await tool.confirmation(input, context(undefined, this.#options.signal));
      if (words !== false) {
        return ask(call, {
          request: 'confirmation',
          ...(typeof words === 'string' && { hint: words }),
        });
      }
    }
    const credential = await this.#credential(call, tool);
    if (credential === 'missing') return askConsent(call, tool);
    return this.#once(attempt, (signal) => context(credential, signal));
  }

  /** Runs the tool unless the journal says that it was run. */
  async #once(attempt: Attempt, context: (signal: AbortSignal) => ToolContext): Promise<CallState> {
    const { call, key, tool } = attempt;
    const { journal, logger } = this.#options.turn;
    if (journal !== undefined && !(await journal.claim(key, {}))) {
      const noted = ((await journal.read(key)) ?? {}) as Partial<NotedCall>;
      if (noted.call !== undefined) {
        this.endsTurn ||= noted.endsTurn === true;
        this.escalates ||= noted.escalates === true;
        return noted.call;
      }
      if (!tool.isIdempotent) {
        logger.warn({ tool: call.name }, 'agents.tool.outcome_unknown');
        return fail(
          call,
          'the call was started and then interrupted; whether it took effect is unknown. Do not repeat it without asking the user',
        );
      }
    }
    const done = await this.#run(attempt, context);
    const { endsTurn, escalates } = this;
    await journal?.write(key, { call: done as unknown as JsonObject, endsTurn, escalates });
    return done;
  }

  async #run(
    attempt: Attempt,
    toContext: (signal: AbortSignal) => ToolContext,
  ): Promise<CallState> {
    const { call, tool, input, answer } = attempt;
    const { settings, turn, signal } = this.#options;
    const milliseconds = tool.timeoutMs ?? settings.toolTimeoutMs;
    const reason = (): LegateError =>
      new LegateError('REQUEST_TIMEOUT', `no result within ${milliseconds} ms`);
    const info = { id: call.id, name: call.name, input: call.input };
    let context: ToolContext | undefined;
    let output: CallOutput;
    try {
      const limits = { milliseconds, signal, reason };
      const value = await traced(call.name, limits, async (signal) => {
        const own = toContext(signal);
        context = own;
        if (answer !== undefined && tool.resume !== undefined) {
          const state = call.ask?.request === 'answer' ? call.ask.state : undefined;
          return tool.resume({ message: answer, state }, own);
        }
        const instead = await settings.beforeTool?.(info, own);
        return instead === undefined ? tool.run(input, own) : instead.result;
      });
      if (value instanceof ToolPause) return ask(call, askOf(value, tool));
      const result = toJson(value, settings.maxResultCharacters);
      if (tool.isLongRunning) return ask(call, { request: 'result', ticket: result });
      output = { type: 'value', value: result };
    } catch (error) {
      signal.throwIfAborted();
      turn.logger.warn({ tool: call.name, error }, 'agents.tool.failed');
      output = { type: 'error', value: reasonOf(error) };
    }
    if (context !== undefined) {
      const instead = await settings.afterTool?.(info, output, context);
      if (instead !== undefined) {
        output = { type: 'value', value: toJson(instead.result, settings.maxResultCharacters) };
      }
    }
    return answered(call, { output });
  }

  async #credential(call: CallState, tool: Tool): Promise<Credential | undefined | 'missing'> {
    if (tool.credentials === undefined) return undefined;
    const { settings, turn, signal } = this.#options;
    const found = await settings.credentials?.({
      ...tool.credentials,
      tool: tool.name,
      caller: turn.caller,
      contextId: turn.contextId,
      signal,
      ...(call.reference !== undefined && { reference: call.reference }),
    });
    return found ?? 'missing';
  }

  #context(
    call: CallState,
  ): (credential: Credential | undefined, signal: AbortSignal) => ToolContext {
    const { turn, settings, say } = this.#options;
    return (credential, signal) => ({
      callId: call.id,
      agent: settings.name,
      turn,
      session: sessionOf(turn),
      signal,
      ...(credential !== undefined && { credential }),
      emit: say,
      endTurn: ({ escalate = false } = {}) => {
        this.endsTurn = true;
        this.escalates ||= escalate;
      },
      addUsage: (usage) => {
        this.usage = addUsage(this.usage, usage);
      },
    });
  }
}

/** A call in the journal, once its outcome is known. */
interface NotedCall {
  readonly call: CallState;
  readonly endsTurn: boolean;
  readonly escalates: boolean;
}

interface Attempt {
  readonly call: CallState;
  readonly key: string;
  readonly tool: Tool;
  readonly input: unknown;
  readonly answer: Message | undefined;
}

function fail(call: CallState, why: string): CallState {
  return answered(call, { output: { type: 'error', value: why } });
}

function ask(call: CallState, question: Ask): CallState {
  return { ...call, ask: question };
}

function askConsent(call: CallState, tool: Tool): CallState {
  if (tool.credentials === undefined || (call.consents ?? 0) >= mostConsents) {
    return fail(call, 'the user gave no access to the service behind this tool');
  }
  return ask(call, { request: 'credential', ...tool.credentials });
}

function askOf(pause: ToolPause, tool: Tool): Ask {
  return {
    request: 'answer',
    question: pause.question,
    isAuthorization: pause.needsAuthorization,
    state: pause.state ?? null,
    resumes: tool.resume !== undefined,
  };
}

const toolCalls = counter('legate.tool.calls');

/** Runs a tool within its time, as a piece of the trace. */
async function traced<T>(
  name: string,
  limits: DeadlineOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const span = startSpan('legate.tool', {
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
  });
  try {
    const value = await inSpan(span, () => within(limits, run));
    endSpan(span);
    toolCalls.add(1, { tool: name, outcome: 'ok' });
    return value;
  } catch (error) {
    endSpan(span, error instanceof LegateError ? { code: error.code } : {});
    toolCalls.add(1, { tool: name, outcome: 'error' });
    throw error;
  }
}

const longestReason = 1_000;

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : 'it failed without a reason';
  return text.length > longestReason ? `${text.slice(0, longestReason)}...` : text;
}

/** What a tool returned, as a model can be shown it. */
function toJson(value: unknown, mostCharacters: number): JsonValue {
  if (value === undefined) return 'done';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined) throw new TypeError('the tool returned something that is no JSON');
  if (text.length > mostCharacters) {
    return `${text.slice(0, mostCharacters)}\n[cut after ${mostCharacters} of ${text.length} characters]`;
  }
  return typeof value === 'string' ? value : (JSON.parse(text) as JsonValue);
}
