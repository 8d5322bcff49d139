import type { Message, Part } from '../../protocol/index.ts';
import type { ToolContext } from '../tools/tool.ts';
import { addUsage } from '../usage.ts';
import { type CallPolicy, CallRunner } from './call-runner.ts';
import { type CallState, isAsking, type LoopState, toResult } from './call-state.ts';
import { type CallResult, type Entry, withOwnIds } from './conversation.ts';
import type { ModelAnswer } from './prompt.ts';

/** The calls of a step that waited for the caller, and the caller's answer. */
export interface ResumedStep {
  readonly calls: readonly CallState[];
  /** The text of the model beside the calls. */
  readonly text: string;
  readonly message: Message;
  /** Ids of the calls whose tools resume with the message. */
  readonly resuming: readonly string[];
  /** Text of the caller beside the answers. */
  readonly remarks: readonly Part[];
}

/**
 * The hooks of one kind of agent. `End` is the result of its turn; if a hook returns one, the loop
 * ends.
 */
export interface LoopPolicy<End extends object, Context = ToolContext> {
  /** How tools are called. */
  readonly calls: CallPolicy<Context>;
  /** Maximum answers of the model and maximum input and output tokens (0 for no limit) in one task. */
  readonly limits: { readonly iterations: number; readonly tokens: number };
  /** Calls the model; `iteration` counts its answers from 0. */
  ask(entries: readonly Entry[], iteration: number): Promise<ModelAnswer>;
  /** The model answered without a tool call. If no end is returned, the model is called again. */
  onAnswer(answer: ModelAnswer): Promise<End | undefined>;
  /** The model called tools. If an end is returned, they do not run. */
  onCalls(answer: ModelAnswer): Promise<End | undefined>;
  /** Some calls need the caller to continue. */
  onPause(calls: readonly CallState[], text: string): End;
  /** All calls of a step have results; `text` is the text of the model beside them. */
  afterCalls(results: readonly CallResult[], text: string): Promise<End | undefined>;
  onLimit(limit: 'iterations' | 'tokens'): Promise<End>;
}

/**
 * Calls the model, runs the tools that it calls, and calls it again with their results, until the
 * policy ends the loop. This is the only tool loop: LLM agents and sub agents of assistants are
 * policies of it.
 */
export async function runToolLoop<End extends object, Context>(
  policy: LoopPolicy<End, Context>,
  state: LoopState,
  resumed?: ResumedStep,
): Promise<End> {
  const runner = new CallRunner(policy.calls, state);

  /** Runs calls until they have results or questions; returns undefined to call the model again. */
  const settle = async (
    calls: readonly CallState[],
    text: string,
    answer?: ResumedStep,
  ): Promise<End | undefined> => {
    const settled = await runner.advance(calls, state.iteration, answer);
    const isPaused = settled.some(isAsking);
    const results = isPaused ? [] : settled.map(toResult);
    if (!isPaused) {
      // Models expect the results directly after the calls.
      const at = state.entries.findLastIndex(({ role }) => role === 'assistant') + 1;
      state.entries.splice(at, 0, { role: 'tool', results });
    }
    const { remarks = [] } = answer ?? {};
    if (remarks.length > 0) state.entries.push({ role: 'user', parts: remarks });
    return isPaused ? policy.onPause(settled, text) : policy.afterCalls(results, text);
  };

  const step = async (): Promise<End | undefined> => {
    const answer = await policy.ask(state.entries, state.iteration);
    state.usage = addUsage(state.usage, answer.usage);
    state.iteration += 1;
    const { text, thoughts } = answer;
    const calls = withOwnIds(answer.calls, state.entries);
    state.entries.push({
      role: 'assistant',
      ...(text !== '' && { text }),
      ...(thoughts.length > 0 && { thoughts }),
      ...(calls.length > 0 && { calls }),
    });
    if (calls.length === 0) return policy.onAnswer(answer);
    return (await policy.onCalls(answer)) ?? settle(calls, text);
  };

  let end = resumed === undefined ? undefined : await settle(resumed.calls, resumed.text, resumed);
  while (end === undefined) {
    const { iterations, tokens } = policy.limits;
    const isSpent = tokens > 0 && state.usage.input + state.usage.output >= tokens;
    if (state.iteration >= iterations) end = await policy.onLimit('iterations');
    else if (isSpent) end = await policy.onLimit('tokens');
    else end = await step();
  }
  return end;
}
