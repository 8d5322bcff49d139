import {
  artifact,
  data,
  type JsonObject,
  type JsonValue,
  LegateError,
  type Part,
} from '../../protocol/index.ts';
import type { Agent, ContextPatch, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { working } from '../define.ts';
import { failure, isPause } from '../drive.ts';
import { EventChannel } from '../event-channel.ts';
import { sessionOf } from '../sessions/passing-session.ts';
import { type ValueSchema, valueSchema } from '../tools/schema.ts';
import type { Tool } from '../tools/tool.ts';
import { gatherTools } from '../tools/tool-set.ts';
import type { Utterance } from '../turn-output.ts';
import { readAnswers } from './answers.ts';
import { CallRunner } from './call-runner.ts';
import { type CallState, toResult } from './call-state.ts';
import { type Entry, loadHistory, toLog, toPrompt, withOwnIds } from './conversation.ts';
import { delegationOf, transferName, transferTool } from './delegation.ts';
import { handOver } from './hand-over.ts';
import { renderInstruction } from './instruction.ts';
import type { ModelAnswer } from './model-answer.ts';
import { ModelCaller } from './model-caller.ts';
import { ModelFailed } from './model-failed.ts';
import type { LlmSettings } from './options.ts';
import { askingEnd, isAsking } from './questions.ts';
import { type Pause, SavedState } from './saved-state.ts';
import { formatInstruction, readOutput, responseFormat } from './structured-output.ts';
import { addUsage, noUsage, type Usage, usageMetadata, usageOf } from '../usage.ts';

const mostTransfers = 8;
const mostRepairs = 2;

/** What comes after a step: another one, the end, or another agent. */
type Next =
  | { readonly kind: 'end'; readonly end: TurnEnd }
  | { readonly kind: 'transfer'; readonly target: string };

/**
 * One turn of an agent with a model, in these states:
 *
 * - **asking the model**, until it answers without calls: then the turn is completed.
 * - **running tools** that it called, side by side. Their results lead back to the model.
 * - **paused**: a call needs the caller. The turn ends, and everything that is needed to go on is
 *   in the context's saved value; the message that continues the task leads back to the tools.
 * - **handed over**: a sub agent takes the turn, and this run passes on what it says.
 */
export class LlmRun {
  readonly #settings: LlmSettings;
  readonly #turn: Turn;
  /** All that is said goes through it: each step of a chain of generators would cost as much again. */
  readonly #channel = new EventChannel<Utterance>();
  readonly #stopping = new AbortController();
  readonly #schema: ValueSchema | undefined;
  readonly #log: JsonObject[] = [];
  #saved = new SavedState(undefined);
  #begun: Work | undefined;
  #entries: Entry[] = [];
  #iteration = 0;
  #repairs = 0;
  #usage: Usage = noUsage;

  constructor(settings: LlmSettings, turn: Turn) {
    this.#settings = settings;
    this.#turn = turn;
    this.#schema = settings.output === undefined ? undefined : valueSchema(settings.output);
  }

  async *events(): AsyncGenerator<TurnEvent> {
    const { signal } = this.#turn;
    const follow = (): void => this.#stopping.abort(signal.reason);
    if (signal.aborted) follow();
    else signal.addEventListener('abort', follow, { once: true });
    let isHeard = false;
    try {
      const end = yield* this.#channel.during(this.#run());
      isHeard = true;
      yield end;
    } catch (error) {
      isHeard = true;
      if (!(error instanceof ModelFailed)) throw error;
      this.#turn.logger.error({ error: error.cause }, 'agents.model.failed');
      yield this.#failed(error.errorType, 'The language model could not answer.', error.details);
    } finally {
      signal.removeEventListener('abort', follow);
      // Whoever stops listening in mid-sentence stops the model.
      if (!isHeard) this.#stopping.abort();
    }
  }

  readonly #say = (event: Utterance): Promise<void> => this.#channel.push(event);

  async #run(): Promise<TurnEnd> {
    const { state, taskId, isContinuation } = this.#turn;
    this.#saved = new SavedState(await state.load());
    const pause = isContinuation ? this.#saved.pauses.get(taskId) : undefined;
    this.#saved.pauses.delete(taskId);
    this.#usage = pause?.usage ?? noUsage;

    let target = pause === undefined ? this.#saved.active : pause.delegate;
    let isContinued = pause?.delegate !== undefined;
    for (let transfers = 0; transfers <= mostTransfers; transfers += 1) {
      const child = this.#settings.subAgents.find(({ name }) => name === target);
      const next: Next =
        child === undefined
          ? await this.#converse(transfers === 0 ? pause : undefined)
          : await this.#handOver(child, isContinued, transfers);
      if (next.kind === 'end') return next.end;
      if (!this.#knows(next.target)) return this.#handOutside(next.target);
      target = next.target;
      isContinued = false;
    }
    const text = `The agents handed the task on ${mostTransfers} times.`;
    return this.#failed('transfer_limit', text);
  }

  // ---- the loop -----------------------------------------------------------------------------------

  async #converse(pause: Pause | undefined): Promise<Next> {
    const settings = this.#settings;
    const turn = this.#turn;
    this.#saved.active = undefined;
    const tools = await this.#gatherTools();
    const passing = { signal: this.#stopping.signal, say: this.#say };
    this.#begun = {
      history: await loadHistory(turn, settings.name, settings.historyTurns),
      system: await this.#instruction(),
      model: new ModelCaller({ settings, turn, tools, schema: this.#schema, ...passing }),
      calls: new CallRunner({ settings, turn, tools, ...passing }),
    };
    this.#entries = [...(pause?.entries ?? [{ role: 'user', parts: turn.message.parts }])];
    this.#iteration = pause?.iteration ?? this.#iteration;
    if (pause?.calls !== undefined) {
      const next = await this.#goOn(pause, pause.calls);
      if (next !== undefined) return next;
    }
    for (;;) {
      const spent = this.#budgetSpent();
      if (spent !== undefined) return { kind: 'end', end: spent };
      const next = await this.#step();
      if (next !== undefined) return next;
    }
  }

  /** Takes up the calls that waited for the caller. */
  async #goOn(pause: Pause, paused: readonly CallState[]): Promise<Next | undefined> {
    const { message } = this.#turn;
    const runner = this.#work().calls;
    runner.endsTurn = pause.endsTurn ?? false;
    runner.escalates = pause.escalates ?? false;
    const { calls, resuming, said, note } = readAnswers(message, paused);
    const text = pause.text ?? '';
    if (note !== undefined) return this.#pause(calls, text, note);
    return this.#settle(calls, text, { message, resuming }, said);
  }

  async #step(): Promise<Next | undefined> {
    const { history, system, model } = this.#work();
    const prompt = toPrompt(system, [...history, ...this.#entries]);
    const answer = await model.ask(prompt, this.#iteration);
    this.#usage = addUsage(this.#usage, answer.usage);
    this.#iteration += 1;
    const { text, thoughts } = answer;
    const calls = withOwnIds(answer.calls, this.#entries);
    this.#entries.push({
      role: 'assistant',
      ...(text !== '' && { text }),
      ...(thoughts.length > 0 && { thoughts }),
      ...(calls.length > 0 && { calls }),
    });
    if (calls.length === 0) return this.#conclude(answer);
    const target = this.#transferTarget(answer);
    if (target !== undefined) return { kind: 'transfer', target };
    if (text !== '' && this.#settings.showsFillers) await this.#say(working(text));
    return this.#settle(calls, text);
  }

  /** Runs calls to their results or to questions; undefined leads back to the model. */
  async #settle(
    calls: readonly CallState[],
    text: string,
    answer?: Parameters<CallRunner['advance']>[2],
    said: readonly Part[] = [],
  ): Promise<Next | undefined> {
    const runner = this.#work().calls;
    const settled = await runner.advance(calls, this.#iteration, answer);
    this.#usage = addUsage(this.#usage, runner.usage);
    runner.usage = noUsage;
    if (settled.some(isAsking)) {
      if (said.length > 0) this.#entries.push({ role: 'user', parts: said });
      return this.#pause(settled, text);
    }
    const results = settled.map(toResult);
    // A model expects the results right after its calls.
    const at = this.#entries.findLastIndex(({ role }) => role === 'assistant') + 1;
    this.#entries.splice(at, 0, { role: 'tool', results });
    if (said.length > 0) this.#entries.push({ role: 'user', parts: said });
    const isOver =
      runner.endsTurn ||
      (await this.#settings.stopWhen?.({ results, iteration: this.#iteration }, this.#turn)) ===
        true;
    if (!isOver) return undefined;
    const metadata = runner.escalates ? { escalate: true } : {};
    return { kind: 'end', end: await this.#completed(text, metadata) };
  }

  #pause(calls: readonly CallState[], text: string, note?: string): Next {
    const runner = this.#work().calls;
    this.#saved.pause(this.#turn.taskId, {
      entries: this.#entries,
      iteration: this.#iteration,
      usage: this.#usage,
      calls,
      text,
      ...(runner.endsTurn && { endsTurn: true }),
      ...(runner.escalates && { escalates: true }),
    });
    const end = this.#withUsage(askingEnd(calls, note));
    return { kind: 'end', end: { ...end, context: this.#patch() } };
  }

  // ---- the model ----------------------------------------------------------------------------------

  async #instruction(): Promise<string> {
    const { instruction, model } = this.#settings;
    const template = typeof instruction === 'string' ? instruction : await instruction(this.#turn);
    const text = await renderInstruction(template, sessionOf(this.#turn));
    if (this.#schema === undefined || responseFormat(model, this.#schema) !== undefined)
      return text;
    return `${text}\n\n${formatInstruction(this.#schema)}`.trimStart();
  }

  async #gatherTools(): Promise<ReadonlyMap<string, Tool>> {
    const found = await gatherTools(this.#settings.tools, this.#turn);
    const targets = [...this.#settings.subAgents, ...(delegationOf(this.#turn)?.roster ?? [])];
    if (targets.length === 0) return found;
    if (found.has(transferName)) {
      const message = `agent "${this.#settings.name}": the name "${transferName}" is taken by the tool that hands the conversation on`;
      throw new LegateError('CONFIGURATION_INVALID', message);
    }
    return new Map([...found, [transferName, transferTool(targets)]]);
  }

  #budgetSpent(): TurnEnd | undefined {
    const { maxIterations, maxTokens, name } = this.#settings;
    if (this.#iteration >= maxIterations) {
      const text = `The agent ${name} did not come to an end in ${maxIterations} steps.`;
      return this.#failed('iteration_limit', text);
    }
    if (maxTokens > 0 && this.#usage.input + this.#usage.output >= maxTokens) {
      return this.#failed('token_budget', `The agent ${name} has used up its ${maxTokens} tokens.`);
    }
    return undefined;
  }

  // ---- the end ------------------------------------------------------------------------------------

  async #conclude(answer: ModelAnswer): Promise<Next | undefined> {
    const { text, finishReason } = answer;
    if (text === '' && finishReason === 'content-filter') {
      return { kind: 'end', end: this.#failed('content_filter', 'The model refused to answer.') };
    }
    if (this.#schema === undefined) return { kind: 'end', end: await this.#completed(text) };
    const output = await readOutput(text, this.#schema);
    if (output.ok) {
      await this.#say(artifact(data(output.value), { artifactId: this.#settings.artifactId }));
      return { kind: 'end', end: await this.#completed(output.value) };
    }
    this.#repairs += 1;
    if (this.#repairs > mostRepairs) {
      const why = `The model's answer is not valid: ${output.problem}`;
      return { kind: 'end', end: this.#failed('invalid_output', why) };
    }
    const complaint = `Your answer is not valid: ${output.problem}. ${formatInstruction(this.#schema)}`;
    this.#entries.push({ role: 'user', parts: [{ text: complaint }] });
    return undefined;
  }

  async #completed(output: JsonValue, metadata: JsonObject = {}): Promise<TurnEnd> {
    const { outputKey, name } = this.#settings;
    if (outputKey !== undefined) sessionOf(this.#turn).set(outputKey, output);
    this.#log.push(toLog(name, this.#entries));
    return this.#withUsage({ kind: 'completed', metadata, context: this.#patch() });
  }

  /** A failed turn says nothing in the log, but its pause is over. */
  #failed(errorType: string, text: string, details?: JsonObject): TurnEnd {
    const value = this.#saved.toValue();
    const end = this.#withUsage(failure(errorType, text, details));
    return value === undefined ? end : { ...end, context: { value } };
  }

  #withUsage(end: TurnEnd): TurnEnd {
    const metadata = { ...end.metadata, ...usageMetadata(this.#usage) };
    const { metadata: _, ...rest } = end;
    return Object.keys(metadata).length === 0 ? rest : { ...rest, metadata };
  }

  #patch(): ContextPatch {
    const value = this.#saved.toValue();
    return {
      ...(value !== undefined && { value }),
      ...(this.#log.length > 0 && { log: this.#log }),
    };
  }

  // ---- sub agents ---------------------------------------------------------------------------------

  /** The agent that the model hands the conversation to, if it does. */
  #transferTarget(answer: ModelAnswer): string | undefined {
    const call = answer.calls.find(({ name }) => name === transferName);
    const target = (call?.input as JsonObject | undefined)?.['agent_name'];
    if (typeof target !== 'string') return undefined;
    const outside = delegationOf(this.#turn)?.roster ?? [];
    const isKnown = [...this.#settings.subAgents, ...outside].some(({ name }) => name === target);
    return isKnown ? target : undefined;
  }

  #knows(target: string): boolean {
    const { name, subAgents } = this.#settings;
    return target === name || subAgents.some((each) => each.name === target);
  }

  /** Hands the conversation to an agent that only whoever gave it to this one can reach. */
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
      signal: this.#stopping.signal,
      say: this.#say,
    });
    this.#log.push(...log);
    // The child tells what the whole task cost it, over all its turns; so its cost is not kept here.
    const own = this.#usage;
    this.#usage = addUsage(own, usageOf(end.metadata));
    if (requested !== undefined) return { kind: 'transfer', target: requested };
    if (isPause(end)) {
      const pause = { entries: [], iteration: this.#iteration, usage: own, delegate: child.name };
      this.#saved.pause(this.#turn.taskId, pause);
    }
    return { kind: 'end', end: { ...this.#withUsage(end), context: this.#patch() } };
  }

  /** What was made when the conversation began. */
  #work(): Work {
    if (this.#begun === undefined) throw new LegateError('INTERNAL', 'the turn has not begun');
    return this.#begun;
  }
}

/** What a conversation needs, once it has begun. */
interface Work {
  readonly history: readonly Entry[];
  readonly system: string;
  readonly model: ModelCaller;
  readonly calls: CallRunner;
}
