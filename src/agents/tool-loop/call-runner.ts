import { z } from 'zod';
import {
  errorMessage,
  type JsonValue,
  LegateError,
  type Message,
  shortened,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { type Logger, traced } from '../../telemetry/index.ts';
import { within } from '../../time/index.ts';
import type { Journal } from '../agent.ts';
import type { Credential } from '../tools/credentials.ts';
import { excerptOf } from '../steps/excerpt.ts';
import type { OpenStep, StepChange, Steps } from '../steps/step-log.ts';
import { type Tool, ToolPause } from '../tools/tool.ts';
import { addUsage, type Usage } from '../usage.ts';
import {
  answered,
  type Ask,
  type CallState,
  callState,
  isDone,
  type LoopState,
} from './call-state.ts';
import type { CallOutput } from './conversation.ts';

/**
 * A tool call, as passed to callbacks.
 * @example const auditLine = ({ id, name, input }: ToolCallInfo) => `${id} ${name} ${JSON.stringify(input)}`;
 */
export interface ToolCallInfo {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}

type MaybePromise<T> = T | Promise<T>;

/** Controls of a running call. */
export interface CallControls {
  readonly signal: AbortSignal;
  readonly credential: Credential | undefined;
  /** Records the steps within the call. */
  readonly steps: Steps | undefined;
  readonly endTurn: (options?: { readonly escalate?: boolean }) => void;
  readonly addUsage: (usage: Partial<Usage>) => void;
}

/** How one kind of agent calls its tools. */
export interface CallPolicy<Context> {
  readonly tools: ReadonlyMap<string, Tool<Context>>;
  readonly limits: {
    /** Maximum calls in one answer of the model; further calls fail. */
    readonly callsPerStep: number;
    /** Maximum tools that run concurrently. */
    readonly parallel: number;
    /** Timeout of tools without their own, in milliseconds; 0 for no limit. */
    readonly toolTimeoutMs: number;
    readonly resultCharacters: number;
  };
  readonly journal: Journal | undefined;
  /** Records the calls as steps. @default none */
  readonly steps?: Steps | undefined;
  readonly logger: Logger;
  /** Aborts with the turn, or when the consumer of its events leaves. */
  readonly signal: AbortSignal;
  context(call: ToolCallInfo, controls: CallControls): Context;
  /** If it returns undefined, the caller is asked for consent. */
  credential?(tool: Tool<Context>, call: CallState): MaybePromise<Credential | undefined>;
  /** Can return the result in place of the tool. */
  beforeTool?(
    call: ToolCallInfo,
    context: Context,
  ): MaybePromise<{ readonly result: JsonValue } | undefined>;
  /** Runs when a tool failed; can return a result in its place. */
  onToolError?(
    call: ToolCallInfo,
    error: unknown,
    context: Context,
  ): MaybePromise<{ readonly result: JsonValue } | undefined>;
  /** Can replace the result. */
  afterTool?(
    call: ToolCallInfo,
    output: CallOutput,
    context: Context,
  ): MaybePromise<{ readonly result: JsonValue } | undefined>;
}

/** Bounds how often the caller is asked for the same consent. */
const maxConsents = 5;

/**
 * Runs the calls of a step until each has an output or needs the caller.
 *
 * A call runs at most once. The end of the turn saves its output. An interrupted turn is not rerun
 * unless its agent declares `onInterrupted: 'run-again'`. Such a turn has a journal: the start of a
 * call is journaled before the tool runs, and the output after it. The rerun reuses journaled outputs.
 * A call that was started without an output is not repeated, and the model is informed; tools with
 * `isIdempotent` run again.
 */
export class CallRunner<Context> {
  readonly #policy: CallPolicy<Context>;
  readonly #state: LoopState;

  constructor(policy: CallPolicy<Context>, state: LoopState) {
    this.#policy = policy;
    this.#state = state;
  }

  /** Advances every open call, several at a time. */
  async advance(
    calls: readonly CallState[],
    step: number,
    answer?: { readonly message: Message; readonly resuming: readonly string[] },
  ): Promise<readonly CallState[]> {
    const { signal, limits } = this.#policy;
    const results = [...calls];
    const queue = [...calls.entries()];
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [index, call] = next;
        const key = `call ${step}.${index}`;
        if (index >= limits.callsPerStep) {
          const why = `only ${limits.callsPerStep} calls are carried out in one step; call it again`;
          results[index] = fail(call, why);
          continue;
        }
        const resumes = answer?.resuming.includes(call.id) === true ? answer.message : undefined;
        results[index] = await this.#advance(call, key, resumes);
        signal.throwIfAborted();
      }
    };
    const workers = Math.min(limits.parallel, queue.length);
    // A failure ends the turn: the other workers must not start the calls that still wait.
    const stop = (error: unknown): never => {
      queue.length = 0;
      throw error;
    };
    await Promise.all(Array.from({ length: workers }, () => worker().catch(stop)));
    return results;
  }

  async #advance(call: CallState, key: string, answer: Message | undefined): Promise<CallState> {
    if (isDone(call) || (call.ask !== undefined && answer === undefined)) return call;
    const { id: callId, name } = call;
    const noted = { callId, input: excerptOf(call.input) };
    const step = this.#policy.steps?.start({ kind: 'tool', name, tool: noted });
    const moved = await this.#move(call, key, answer, step);
    step?.end(changeOf(moved, noted));
    return moved;
  }

  async #move(
    call: CallState,
    key: string,
    answer: Message | undefined,
    step: OpenStep | undefined,
  ): Promise<CallState> {
    const { tools, signal, logger } = this.#policy;
    const tool = tools.get(call.name);
    if (tool === undefined) return fail(call, `unknown tool "${call.name}"`);
    if (call.problem !== undefined) return fail(call, call.problem);
    const parsed = await tool.parse(call.input);
    if (!parsed.ok) return fail(call, `the input is not valid: ${parsed.problem}`);
    try {
      return await this.#attempt({ call, key, tool, input: parsed.value, answer, step });
    } catch (error) {
      signal.throwIfAborted();
      // Without its journal, a call could run twice: fail the turn, not the tool.
      if (error instanceof LegateError && error.code.startsWith('STORE_')) throw error;
      logger.warn({ tool: call.name, error }, 'agents.tool.failed');
      return fail(call, shortened(errorMessage(error), maxReasonLength));
    }
  }

  async #attempt(attempt: Attempt<Context>): Promise<CallState> {
    const { call, tool, input, answer } = attempt;
    if (answer === undefined && call.isConfirmed !== true) {
      const context = this.#context(attempt, undefined, this.#policy.signal);
      const question = await tool.confirmation(input, context);
      if (question !== false) {
        return ask(call, {
          request: 'confirmation',
          ...(typeof question === 'string' && { hint: question }),
        });
      }
    }
    const needsCredential = tool.credentials !== undefined;
    const credential = needsCredential ? await this.#policy.credential?.(tool, call) : undefined;
    if (needsCredential && credential === undefined) return askConsent(call, tool);
    return this.#once(attempt, (signal) => this.#context(attempt, credential, signal));
  }

  /** Runs the tool, unless its start is in the journal. */
  async #once(
    attempt: Attempt<Context>,
    context: (signal: AbortSignal) => Context,
  ): Promise<CallState> {
    const { call, key, tool, step } = attempt;
    const { journal, logger } = this.#policy;
    const state = this.#state;
    if (journal !== undefined && !(await journal.claim(key, {}))) {
      const earlier = journaledCall.decode((await journal.read(key)) ?? {}, key);
      if (earlier.call !== undefined) {
        step?.change({ isReplayed: true });
        state.endsTurn ||= earlier.endsTurn;
        state.escalates ||= earlier.escalates;
        return earlier.call;
      }
      if (!tool.isIdempotent) {
        logger.warn({ tool: call.name }, 'agents.tool.outcome_unknown');
        return fail(
          call,
          'the call was started and then interrupted; whether it took effect is unknown. Do not repeat it without asking the user',
        );
      }
    }
    // The turn can have ended while the claim was written.
    this.#policy.signal.throwIfAborted();
    const done = await this.#run(attempt, context);
    const { endsTurn, escalates } = state;
    await journal?.write(key, journaledCall.encode({ call: done, endsTurn, escalates }).value);
    return done;
  }

  async #run(
    attempt: Attempt<Context>,
    toContext: (signal: AbortSignal) => Context,
  ): Promise<CallState> {
    const { call, tool, input, answer } = attempt;
    const { limits, logger, signal } = this.#policy;
    const milliseconds = tool.timeoutMs ?? limits.toolTimeoutMs;
    const reason = (): LegateError =>
      new LegateError('REQUEST_TIMEOUT', `no result within ${milliseconds} ms`);
    const info = { id: call.id, name: call.name, input: call.input };
    let context: Context | undefined;
    let output: CallOutput;
    try {
      const run = async (signal: AbortSignal): Promise<unknown> => {
        const own = toContext(signal);
        context = own;
        if (answer !== undefined && tool.resume !== undefined) {
          const state = call.ask?.request === 'answer' ? call.ask.state : undefined;
          return tool.resume({ message: answer, state }, own);
        }
        const instead = await this.#policy.beforeTool?.(info, own);
        return instead === undefined ? tool.run(input, own) : instead.result;
      };
      const attributes = { 'gen_ai.tool.call.id': call.id };
      const value = await toolCalls(
        call.name,
        () => within({ milliseconds, signal, reason }, run),
        { attributes, signal },
      );
      if (value instanceof ToolPause) return ask(call, askOf(value, tool));
      const result = toJson(value, limits.resultCharacters);
      if (tool.isLongRunning) return ask(call, { request: 'result', ticket: result });
      output = { type: 'value', value: result };
    } catch (error) {
      signal.throwIfAborted();
      const instead = context && (await this.#policy.onToolError?.(info, error, context));
      if (instead === undefined) {
        logger.warn({ tool: call.name, error }, 'agents.tool.failed');
        output = { type: 'error', value: shortened(errorMessage(error), maxReasonLength) };
      } else {
        output = { type: 'value', value: toJson(instead.result, limits.resultCharacters) };
      }
    }
    if (context !== undefined) {
      const instead = await this.#policy.afterTool?.(info, output, context);
      if (instead !== undefined) {
        output = { type: 'value', value: toJson(instead.result, limits.resultCharacters) };
      }
    }
    return answered(call, { output });
  }

  #context(
    { call, step }: Pick<Attempt<Context>, 'call' | 'step'>,
    credential: Credential | undefined,
    signal: AbortSignal,
  ): Context {
    const state = this.#state;
    return this.#policy.context(call, {
      signal,
      credential,
      steps: step?.steps,
      endTurn: ({ escalate = false } = {}) => {
        state.endsTurn = true;
        state.escalates ||= escalate;
      },
      addUsage: (usage) => {
        state.usage = addUsage(state.usage, usage);
      },
    });
  }
}

/** A call in the journal: empty from its start until its outcome is recorded. */
const journaledCall = new StoredFormat({
  name: 'journal entry',
  schema: z.object({
    call: callState.optional(),
    endsTurn: z.boolean().default(false),
    escalates: z.boolean().default(false),
  }),
});

interface Attempt<Context> {
  readonly call: CallState;
  readonly key: string;
  readonly tool: Tool<Context>;
  readonly input: unknown;
  readonly answer: Message | undefined;
  readonly step: OpenStep | undefined;
}

/** The outcome of a call, as recorded in its step. */
function changeOf(
  { output, ask: asking }: CallState,
  noted: { readonly callId: string; readonly input: JsonValue },
): StepChange {
  if (asking !== undefined) {
    return { state: 'paused', tool: { ...noted, asks: asking.request } };
  }
  if (output === undefined) return {};
  const shown = excerptOf(output.value);
  const tool = {
    ...noted,
    output:
      output.type === 'value'
        ? { type: output.type, value: shown }
        : { type: output.type, value: typeof shown === 'string' ? shown : output.value },
  };
  return output.type === 'error' ? { state: 'failed', tool } : { tool };
}

function fail(call: CallState, why: string): CallState {
  return answered(call, { output: { type: 'error', value: why } });
}

function ask(call: CallState, question: Ask): CallState {
  return { ...call, ask: question };
}

function askConsent<Context>(call: CallState, tool: Tool<Context>): CallState {
  if (tool.credentials === undefined || (call.consents ?? 0) >= maxConsents) {
    return fail(call, 'the user did not grant access to the service of this tool');
  }
  return ask(call, { request: 'credential', ...tool.credentials });
}

function askOf<Context>(pause: ToolPause, tool: Tool<Context>): Ask {
  return {
    request: 'answer',
    question: pause.question,
    isAuthorization: pause.needsAuthorization,
    state: pause.state ?? null,
    resumes: tool.resume !== undefined,
  };
}

const toolCalls = traced({
  span: 'execute_tool',
  subject: 'gen_ai.tool.name',
  label: 'tool',
  calls: 'legate.tool.calls',
  duration: 'legate.tool.duration',
});

const maxReasonLength = 1_000;

/** The result of a tool as JSON, truncated to `maxCharacters`. */
function toJson(value: unknown, maxCharacters: number): JsonValue {
  if (value === undefined) return 'done';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined) throw new TypeError('the tool returned a value that is not JSON');
  if (text.length > maxCharacters) {
    return `${text.slice(0, maxCharacters)}\n[cut after ${maxCharacters} of ${text.length} characters]`;
  }
  return typeof value === 'string' ? value : JSON.parse(text);
}
