import type { LanguageModelV4 } from '@ai-sdk/provider';
import {
  artifact,
  codeOfErrorType,
  data,
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LegateError,
} from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import type { Agent, ContextPatch, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { working } from '../define.ts';
import { failure, isPause } from '../drive.ts';
import { EventChannel } from '../event-channel.ts';
import type { CallPolicy } from '../tool-loop/call-runner.ts';
import type { CallState, LoopState } from '../tool-loop/call-state.ts';
import { type CallResult, type Entry, toLog, withShortResults } from '../tool-loop/conversation.ts';
import { type ModelAnswer, toPrompt } from '../tool-loop/prompt.ts';
import { type LoopPolicy, runToolLoop } from '../tool-loop/tool-loop.ts';
import { excerpt } from '../steps/excerpt.ts';
import type { OpenStep } from '../steps/step-log.ts';
import type { ValueSchema } from '../tools/schema.ts';
import type { Tool, ToolContext } from '../tools/tool.ts';
import { resolveTools } from '../tools/tool-set.ts';
import type { ProgressEvent } from '../turn-output.ts';
import { addUsage, noUsage, usageMetadata, usageOf } from '../usage.ts';
import { History } from './compaction.ts';
import { delegationOf, handOver, transferName, transferTool } from './hand-over.ts';
import { renderInstruction } from './instruction.ts';
import {
  cutReasons,
  isTooLong,
  ModelCaller,
  ModelCallError,
  modelFailure,
} from './model-caller.ts';
import { movedOptions } from './moved-options.ts';
import type { LlmSettings } from './options.ts';
import { askingEnd, readAnswers } from './questions.ts';
import { type Pause, SavedState } from './saved-state.ts';
import { formatInstruction, readOutput, responseFormat } from './structured-output.ts';

/** Maximum tool calls in one answer of the model. */
const maxCalls = 128;
const maxTransfers = 8;
const maxRepairs = 2;
/** An estimate for most languages and models. */
const charactersPerToken = 4;

/** The next step: the end of the turn, or a transfer to another agent. */
type Next = TurnEnd | { readonly kind: 'transfer'; readonly target: string };

/**
 * One turn of an agent with a model: the tool loop with this agent's prompt and tools, in these
 * states:
 *
 * - **looping**: the model is called and its tool calls run, until it answers without tool calls.
 * - **paused**: a tool call needs the caller. The turn ends, and the saved value of the context
 *   contains everything that is needed to continue. The message that continues the task resumes the
 *   tool calls.
 * - **handed over**: a sub agent runs the turn, and this run forwards its events.
 */
export class LlmRun {
  readonly #settings: LlmSettings;
  readonly #turn: Turn;
  /** Carries all events: nested generators would cost one step for each level and event. */
  readonly #channel = new EventChannel<ProgressEvent>();
  /** Aborts with the turn, or when the consumer of its events leaves. */
  readonly #deadline: Deadline;
  readonly #schema: ValueSchema | undefined;
  readonly #log: JsonObject[] = [];
  #saved = new SavedState(undefined);
  #state = initialState();
  #repairs = 0;
  /** The step of this run, which contains the steps within it. */
  readonly #step: OpenStep | undefined;

  constructor(settings: LlmSettings, turn: Turn) {
    this.#settings = settings;
    this.#turn = turn;
    this.#deadline = new Deadline({ signal: turn.signal });
    this.#step = turn.steps?.start({ kind: 'agent', name: settings.name });
    this.#schema = settings.schema;
  }

  async *events(): AsyncGenerator<TurnEvent> {
    let isSettled = false;
    try {
      const end = yield* this.#channel.during(this.#run());
      isSettled = true;
      yield await this.#finish(end);
    } catch (error) {
      // Other tools of a step that failed can still run.
      this.#deadline.abort();
      if (!(error instanceof ModelCallError)) throw error;
      yield await this.#finish(this.#failed(modelFailure(error, this.#turn.logger)));
    } finally {
      // Abort the model call and the tools if the consumer returns early.
      if (!isSettled) this.#deadline.abort();
      this.#deadline.close();
    }
  }

  async #finish(end: TurnEnd): Promise<TurnEnd> {
    const last = (await this.#settings.afterAgent?.(end, this.#turn)) ?? end;
    this.#endStep(last);
    return last;
  }

  #endStep({ kind, metadata }: TurnEnd): void {
    if (isPause({ kind })) return this.#step?.end({ state: 'paused' });
    if (kind === 'completed') return this.#step?.end();
    const type = metadata?.['error_type'];
    this.#step?.end({ state: 'failed', detail: excerpt(typeof type === 'string' ? type : kind) });
  }

  readonly #emit = (event: ProgressEvent): Promise<void> => this.#channel.push(event);

  async #run(): Promise<TurnEnd> {
    const { state, taskId, isContinuation } = this.#turn;
    this.#saved = new SavedState(await state.load());
    const stopped = this.#saved.take(taskId);
    const pause = isContinuation ? stopped : undefined;
    this.#state.usage = pause?.usage ?? noUsage;
    const instead = await this.#settings.beforeAgent?.(this.#turn);
    if (instead !== undefined) return this.#answerInstead(instead.answer, pause);

    let target = pause === undefined ? this.#saved.active : pause.delegate;
    let isContinued = pause?.delegate !== undefined;
    for (let transfers = 0; transfers <= maxTransfers; transfers += 1) {
      const child = this.#settings.subAgents.find(({ name }) => name === target);
      const next: Next =
        child === undefined
          ? await this.#converse(transfers === 0 ? pause : undefined)
          : await this.#handOver(child, isContinued, transfers);
      if (next.kind !== 'transfer') return next;
      if (!this.#knows(next.target)) return this.#handOutside(next.target);
      target = next.target;
      isContinued = false;
    }
    const text = `The agents transferred the conversation more than ${maxTransfers} times.`;
    return this.#gaveUp('transfer_limit', text);
  }

  /** Answers in place of the agent. An open question stays open. */
  async #answerInstead(answer: string, pause: Pause | undefined): Promise<TurnEnd> {
    if (pause !== undefined) {
      this.#saved.stop(this.#turn.taskId, pause);
      return { kind: 'input-required', parts: [{ text: answer }], context: this.#patch() };
    }
    await this.#emit(artifact(answer, { artifactId: this.#settings.artifactId }));
    this.#state.entries.push(
      { role: 'user', parts: this.#turn.message.parts },
      { role: 'assistant', text: answer },
    );
    return this.#completed(answer);
  }

  // ---- the loop -----------------------------------------------------------------------------------

  async #converse(pause: Pause | undefined): Promise<Next> {
    const { message } = this.#turn;
    this.#saved.active = undefined;
    if (pause === undefined) {
      const { iteration, usage } = this.#state;
      const entries = [{ role: 'user' as const, parts: message.parts }];
      this.#state = { ...initialState(), entries, iteration, usage };
      return runToolLoop(await this.#policy(), this.#state);
    }
    const { calls, text, delegate: _, ...state } = pause;
    this.#state = state;
    const policy = await this.#policy();
    if (calls === undefined) return runToolLoop(policy, state);
    const { note, ...answers } = readAnswers(message, calls);
    if (note !== undefined) return this.#pause(answers.calls, text, note);
    return runToolLoop(policy, state, { ...answers, text, message });
  }

  async #policy(): Promise<LoopPolicy<Next>> {
    const settings = this.#settings;
    const turn = this.#turn;
    const tools = await this.#resolveTools();
    const model = await settings.model();
    const history = await this.#loadHistory(model);
    const system = await this.#instruction(model);
    const steps = this.#step?.steps;
    const streaming = { signal: this.#deadline.signal, emit: this.#emit, steps };
    const schema = this.#schema;
    const caller = new ModelCaller({ settings, turn, model, tools, schema, ...streaming });
    return {
      calls: this.#calls(tools),
      limits: { iterations: settings.maxIterations, tokens: settings.maxTokens },
      ask: async (entries, iteration) => {
        let present: readonly Entry[] | undefined = entries;
        for (;;) {
          const prompt = toPrompt(system, [...history.entries, ...present]);
          try {
            const answer = await caller.ask(prompt, iteration, this.#textBefore());
            await this.#attach(answer, iteration);
            return answer;
          } catch (error) {
            if (!isTooLong(error)) throw error;
            // First shorten the earlier turns, then the tool results of this turn.
            if (!(await history.shorten())) {
              present = present === entries ? withShortResults(entries) : undefined;
              if (present === undefined) throw error;
            }
            this.#addSummary(history);
            turn.logger.warn({ agent: settings.name }, 'agents.model.history_cut');
          }
        }
      },
      onAnswer: (answer) => this.#conclude(answer),
      onCalls: (answer) => this.#onCalls(answer),
      onPause: (calls, text) => this.#pause(calls, text),
      afterCalls: (results, text) => this.#afterCalls(results, text),
      onLimit: async (limit) => this.#overLimit(limit),
    };
  }

  async #loadHistory(model: LanguageModelV4): Promise<History> {
    const { name: agent, historyTurns, historyTokens, compaction } = this.#settings;
    const history = await History.load({
      turn: this.#turn,
      agent,
      turns: historyTurns,
      characters: historyTokens * charactersPerToken,
      compaction,
      model,
      steps: this.#step?.steps,
      signal: this.#deadline.signal,
    });
    this.#addSummary(history);
    return history;
  }

  /** Adds a summary to the log, and its cost to the usage. */
  #addSummary(history: History): void {
    this.#log.push(...history.log.splice(0));
    this.#state.usage = addUsage(this.#state.usage, history.usage);
    history.usage = noUsage;
  }

  /** Files and sources get their own artifact, since the artifact of the answer can still be replaced. */
  async #attach({ attachments = [] }: ModelAnswer, iteration: number): Promise<void> {
    if (attachments.length === 0) return;
    const artifactId = `${this.#settings.artifactId}/files/${iteration + 1}`;
    await this.#emit(artifact(attachments, { artifactId }));
  }

  #calls(tools: ReadonlyMap<string, Tool>): CallPolicy<ToolContext> {
    const settings = this.#settings;
    const turn = this.#turn;
    const signal = this.#deadline.signal;
    const { name: agent, beforeTool, afterTool, onToolError } = settings;
    return {
      tools,
      limits: {
        callsPerStep: maxCalls,
        parallel: settings.maxParallelTools,
        toolTimeoutMs: settings.toolTimeoutMs,
        resultCharacters: settings.maxResultCharacters,
      },
      journal: turn.journal,
      steps: this.#step?.steps,
      logger: turn.logger,
      signal,
      context: ({ id }, { credential, ...controls }) => ({
        callId: id,
        agent,
        turn,
        session: turn.session,
        emit: this.#emit,
        ...controls,
        ...(credential !== undefined && { credential }),
      }),
      credential: (tool, { reference }) =>
        tool.credentials &&
        settings.credentials?.({
          ...tool.credentials,
          tool: tool.name,
          caller: turn.caller,
          contextId: turn.contextId,
          signal,
          ...(reference !== undefined && { reference }),
        }),
      ...(beforeTool !== undefined && { beforeTool }),
      ...(onToolError !== undefined && { onToolError }),
      ...(afterTool !== undefined && { afterTool }),
    };
  }

  async #onCalls({ text, calls }: ModelAnswer): Promise<Next | undefined> {
    const call = calls.find(({ name }) => name === transferName);
    const target = isJsonObject(call?.input) ? call.input['agent_name'] : undefined;
    // Accept the name in the card of a remote agent, too.
    const known = this.#targets.find(
      ({ name, title = name }) => target === name || target === title,
    );
    if (known !== undefined) return { kind: 'transfer', target: known.name };
    const isShown = this.#schema === undefined;
    if (text !== '' && this.#settings.showsFillers && !isShown) await this.#emit(working(text));
    return undefined;
  }

  /** The text that earlier steps of the task wrote to the artifact of the answer. */
  #textBefore(): string {
    const texts = this.#state.entries.flatMap((each) =>
      each.role === 'assistant' && each.text !== undefined ? [each.text] : [],
    );
    return this.#settings.showsFillers ? texts.join('\n\n') : '';
  }

  async #afterCalls(results: readonly CallResult[], text: string): Promise<Next | undefined> {
    const { iteration, endsTurn, escalates } = this.#state;
    const isOver = endsTurn || (await this.#isEnough(results, iteration));
    return isOver ? this.#completed(text, escalates ? { escalate: true } : {}) : undefined;
  }

  async #isEnough(results: readonly CallResult[], iteration: number): Promise<boolean> {
    const { stopWhen, name } = this.#settings;
    if (stopWhen === undefined) return false;
    const step = movedOptions(
      `stopWhen of agent "${name}"`,
      { results, iteration },
      {
        steps: `in place of stepCountIs(5), write ({ iteration }) => iteration === 5; of hasToolCall('pay'), ({ results }) => results.some(({ name }) => name === 'pay')`,
      },
    );
    return stopWhen(step, this.#turn);
  }

  #pause(calls: readonly CallState[], text: string, note?: string): TurnEnd {
    this.#saved.stop(this.#turn.taskId, { ...this.#state, calls, text });
    return { ...this.#withUsage(askingEnd(calls, note)), context: this.#patch() };
  }

  #overLimit(limit: 'iterations' | 'tokens'): TurnEnd {
    const { maxIterations, maxTokens, name } = this.#settings;
    if (limit === 'tokens')
      return this.#gaveUp(
        'token_budget',
        `The agent ${name} reached its limit of ${maxTokens} tokens (maxTokens).`,
      );
    const why = `The agent ${name} reached its limit of ${maxIterations} steps (maxIterations).`;
    return this.#gaveUp('iteration_limit', why);
  }

  async #instruction(model: LanguageModelV4): Promise<string> {
    const { instruction } = this.#settings;
    // The result of a function can contain text of users, which must not read the session.
    const text =
      typeof instruction === 'string'
        ? await renderInstruction(instruction, this.#turn.session)
        : await instruction(this.#turn);
    if (this.#schema === undefined || responseFormat(model, this.#schema) !== undefined)
      return text;
    return `${text}\n\n${formatInstruction(this.#schema)}`.trimStart();
  }

  async #resolveTools(): Promise<ReadonlyMap<string, Tool>> {
    const found = await resolveTools(this.#settings.tools, this.#turn, this.#turn.peers.tools);
    const targets = this.#targets;
    if (targets.length === 0) return found;
    const { signal } = this.#turn;
    await Promise.all(this.#settings.subAgents.map(async (each) => each.prepare?.(signal)));
    if (found.has(transferName)) {
      const message = `agent "${this.#settings.name}": the name "${transferName}" is reserved for the transfer tool; rename your tool`;
      throw invalidConfiguration(message);
    }
    return new Map([...found, [transferName, transferTool(targets)]]);
  }

  // ---- the end ------------------------------------------------------------------------------------

  async #conclude({ text, finishReason }: ModelAnswer): Promise<Next | undefined> {
    if (text === '' && finishReason === 'content-filter')
      return this.#gaveUp('content_filter', 'The model refused to answer.');
    const isCut = cutReasons.has(finishReason);
    const why = { agent: this.#settings.name, finishReason };
    if (isCut) this.#turn.logger.warn(why, 'agents.model.truncated');
    else if (text === '') this.#turn.logger.warn(why, 'agents.model.empty');
    const mark = isCut ? { finish_reason: finishReason } : {};
    if (this.#schema === undefined) return this.#completed(text, mark);
    const output = await readOutput(text, this.#schema);
    if (output.ok) {
      await this.#emit(artifact(data(output.value), { artifactId: this.#settings.artifactId }));
      return this.#completed(output.value, mark);
    }
    this.#repairs += 1;
    if (this.#repairs > maxRepairs) {
      const cut = isCut ? `; it is not whole (finish_reason: ${finishReason})` : '';
      const problem = `The model's answer is not valid: ${output.problem}${cut}`;
      return this.#gaveUp('invalid_output', problem);
    }
    const complaint = `Your answer is not valid: ${output.problem}. ${formatInstruction(this.#schema)}`;
    this.#state.entries.push({ role: 'user', parts: [{ text: complaint }] });
    return undefined;
  }

  #completed(output: JsonValue, metadata: JsonObject = {}): TurnEnd {
    const { outputKey, name } = this.#settings;
    if (outputKey !== undefined) this.#turn.session.set(outputKey, output);
    this.#log.push(toLog(name, this.#state.entries));
    return this.#withUsage({ kind: 'completed', metadata, context: this.#patch() });
  }

  /** Fails the turn although every model call succeeded. */
  #gaveUp(errorType: string, text: string): TurnEnd {
    const { name: agent } = this.#settings;
    this.#turn.logger.warn({ agent, errorType, reason: text }, 'agents.turn.failed');
    return this.#failed({
      ...failure(errorType, text),
      error: new LegateError(codeOfErrorType(errorType), text),
    });
  }

  /** A failed turn adds nothing to the log, but clears its pause. */
  #failed(given: TurnEnd): TurnEnd {
    const value = this.#saved.value();
    const end = this.#withUsage(given);
    return value === undefined ? end : { ...end, context: { value } };
  }

  #withUsage({ metadata: own, ...rest }: TurnEnd): TurnEnd {
    const metadata = { ...own, ...usageMetadata(this.#state.usage) };
    return Object.keys(metadata).length === 0 ? rest : { ...rest, metadata };
  }

  #patch(): ContextPatch {
    const value = this.#saved.value();
    return {
      ...(value !== undefined && { value }),
      ...(this.#log.length > 0 && { log: this.#log }),
    };
  }

  // ---- sub agents ---------------------------------------------------------------------------------

  /** The agents that the model can transfer the conversation to. */
  get #targets() {
    return [...this.#settings.subAgents, ...(delegationOf(this.#turn)?.targets ?? [])];
  }

  #knows(target: string): boolean {
    const { name, subAgents } = this.#settings;
    return target === name || subAgents.some((each) => each.name === target);
  }

  /** Passes the transfer to the parent, which has the target. */
  #handOutside(target: string): TurnEnd {
    const outside = delegationOf(this.#turn);
    if (outside !== undefined) outside.requested = target;
    this.#saved.active = undefined;
    return this.#withUsage({ kind: 'completed', context: this.#patch() });
  }

  async #handOver(child: Agent, isContinued: boolean, transfers: number): Promise<Next> {
    const { end, log, requested } = await handOver({
      settings: this.#settings,
      turn: this.#turn,
      saved: this.#saved,
      child,
      isContinued,
      transfers,
      signal: this.#deadline.signal,
      emit: this.#emit,
      steps: this.#step?.steps,
    });
    this.#log.push(...log);
    // The child reports its usage of the whole task, over all turns, so it is not added to the stored
    // usage.
    const { usage: own, iteration } = this.#state;
    this.#state.usage = addUsage(own, usageOf(end.metadata));
    if (requested !== undefined) return { kind: 'transfer', target: requested };
    if (isPause(end)) {
      const pause = { ...initialState(), iteration, usage: own, text: '', delegate: child.name };
      this.#saved.stop(this.#turn.taskId, pause);
    }
    return { ...this.#withUsage(end), context: this.#patch() };
  }
}

function initialState(): LoopState {
  return { entries: [], iteration: 0, usage: noUsage, endsTurn: false, escalates: false };
}
