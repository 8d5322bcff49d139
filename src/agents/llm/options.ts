import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { suggest } from '../../config/index.ts';
import {
  checkOptions,
  invalidConfiguration,
  type JsonObject,
  type JsonValue,
  type OptionNames,
} from '../../protocol/index.ts';
import type { Agent, Turn, TurnEnd } from '../agent.ts';
import { agentOptionNames, type AgentOptions } from '../define.ts';
import { compactionNames, type CompactionOptions, resolveCompaction } from './compaction.ts';
import { type AgentTools, toolSources } from '../tools/ai-sdk-tool.ts';
import type { CredentialProvider } from '../tools/credentials.ts';
import { checkSchema, type Schema, valueSchema } from '../tools/schema.ts';
import type { ToolContext } from '../tools/tool.ts';
import type { ToolCallInfo } from '../tool-loop/call-runner.ts';
import type { CallOutput, CallResult } from '../tool-loop/conversation.ts';
import type { ModelAnswer } from '../tool-loop/prompt.ts';
import { modelLoader, type ModelSource } from './model-source.ts';

/**
 * Settings of model calls; unset ones are left to the model.
 * @example const settings: ModelSettings = { temperature: 0, maxOutputTokens: 800, reasoning: 'low' };
 */
export type ModelSettings = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'maxOutputTokens'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'seed'
  | 'stopSequences'
  | 'reasoning'
  | 'providerOptions'
>;

/**
 * How one answer of the model is asked for, where it differs from the agent's options.
 * @example const first: StepSettings = { tools: ['search'], toolChoice: 'required' };
 */
export interface StepSettings {
  /** The model of the step. @default the agent's */
  readonly model?: ModelSource;
  /** Names of the tools that are offered. @default all */
  readonly tools?: readonly string[];
  /** Whether the model may call tools, must, must not, or must call one of this name. @default 'auto' */
  readonly toolChoice?: 'auto' | 'required' | 'none' | { readonly tool: string };
  /** Merged over the agent's. */
  readonly settings?: ModelSettings;
}

/**
 * Looks at each step of the loop, and may change it.
 * @example
 * const callbacks: LlmCallbacks = {
 *   beforeModel: (_, turn) =>
 *     textOf(turn.message) === 'ping' ? { answer: 'pong' } : undefined,
 *   beforeTool: ({ name }) =>
 *     name === 'call_office' && isHoliday() ? { result: 'The office is closed.' } : undefined,
 * };
 */
export interface LlmCallbacks {
  /** Runs before the first step of each turn; may answer in place of the agent. */
  readonly beforeAgent?: (turn: Turn) => MaybePromise<{ readonly answer: string } | undefined>;
  /** Runs after each turn with its end, a question or a failure included; may replace the end. */
  readonly afterAgent?: (end: TurnEnd, turn: Turn) => MaybePromise<TurnEnd | undefined>;
  /** Chooses model, tools and settings of each step; `step` counts the answers of the task from 0. */
  readonly prepareStep?: (
    step: { readonly step: number; readonly prompt: LanguageModelV4Prompt },
    turn: Turn,
  ) => MaybePromise<StepSettings | undefined>;
  /** A model failed after all attempts: may answer in its place. */
  readonly onModelError?: (
    error: unknown,
    turn: Turn,
  ) => MaybePromise<{ readonly answer: string } | undefined>;
  /** May answer in place of the model, or change what it is asked. */
  readonly beforeModel?: (
    call: LanguageModelV4CallOptions,
    turn: Turn,
  ) => MaybePromise<
    { readonly answer: string } | { readonly call: LanguageModelV4CallOptions } | undefined
  >;
  /** May replace the answer. With it, text is shown only when the callback has seen it whole. */
  readonly afterModel?: (answer: ModelAnswer, turn: Turn) => MaybePromise<ModelAnswer | undefined>;
  /** May give the result in place of the tool. */
  readonly beforeTool?: (
    call: ToolCallInfo,
    context: ToolContext,
  ) => MaybePromise<{ readonly result: JsonValue } | undefined>;
  /** A tool threw, or took too long: may give a result in its place. */
  readonly onToolError?: (
    call: ToolCallInfo,
    error: unknown,
    context: ToolContext,
  ) => MaybePromise<{ readonly result: JsonValue } | undefined>;
  /** May replace the result. */
  readonly afterTool?: (
    call: ToolCallInfo,
    output: CallOutput,
    context: ToolContext,
  ) => MaybePromise<{ readonly result: JsonValue } | undefined>;
}

type MaybePromise<T> = T | Promise<T>;

/**
 * Options of an agent with a language model.
 * @example
 * const options: LlmAgentOptions = {
 *   name: 'clerk',
 *   model,
 *   instruction: 'You work for {app:shop}. Help {user:name?} with orders.',
 *   tools: [findOrder, askUser()],
 * };
 */
export interface LlmAgentOptions extends AgentOptions, LlmCallbacks {
  /**
   * Any model of the AI SDK (specification v2, v3, v4), `provider/model` (`'anthropic/claude-opus-5'`), or
   * a model group of endpoints.yml.
   */
  readonly model: ModelSource;
  /**
   * The system prompt. `{key}` is filled from the session, `{key?}` may be missing; the
   * scopes `app:`, `user:` and `temp:` may be named. @default ''
   */
  readonly instruction?: string | ((turn: Turn) => string | Promise<string>);
  /** What the model may call: tools and sets of them, or tools by name, as the AI SDK has them. @default none */
  readonly tools?: AgentTools;
  /** Agents that the model may hand the conversation to. */
  readonly subAgents?: readonly Agent[];
  /** The answer's schema, a Standard Schema or JSON Schema: it then is a data part. @default text */
  readonly output?: Schema | JsonObject;
  /** The session key that the answer is saved under. */
  readonly outputKey?: string;
  /** The artifact that holds the answer. @default 'answer' */
  readonly artifactId?: string;
  /** Whether text is shown as it arrives. @default true */
  readonly streams?: boolean;
  /**
   * Whether text beside tool calls stays before the answer, in its artifact; false: the answer replaces
   * it. With `output` it is published as a status of the task. @default true
   */
  readonly showsFillers?: boolean;
  /** Temperature and the like, as the model takes them. */
  readonly settings?: ModelSettings;
  /** Most answers of the model in one task, over all its turns. @default 16 */
  readonly maxIterations?: number;
  /** Most tokens of one task, in and out; 0 for no limit. @default 0 */
  readonly maxTokens?: number;
  /** Earlier turns of the conversation that the model is shown; 0 for none. @default 20 */
  readonly historyTurns?: number;
  /** Most tokens of those turns, estimated as four characters each. @default 50_000 */
  readonly historyTokens?: number;
  /**
   * How to handle turns beyond `historyTurns` and `historyTokens`, and turns that exceed the
   * model's context: `cut` replaces them with a mark; `summarise` has the model summarise them,
   * and stores the summary with the conversation.
   * @default 'cut'
   */
  readonly compaction?: 'cut' | 'summarise' | CompactionOptions;
  /** Tools that run at one time. @default 8 */
  readonly maxParallelTools?: number;
  /** Attempts after the first to get an answer from the model. @default 2 */
  readonly modelRetries?: number;
  /** Milliseconds of silence of the model, or for a whole answer where nothing streams. @default 120_000 */
  readonly modelTimeoutMs?: number;
  /** Milliseconds; 0 for no limit. @default 60_000 */
  readonly toolTimeoutMs?: number;
  /** The most characters of a tool's result that the model is shown. @default 100_000 */
  readonly maxResultCharacters?: number;
  /** From 0 up to 1, for the spread of waits. @default Math.random */
  readonly random?: () => number;
  /** Where tools' credentials come from. */
  readonly credentials?: CredentialProvider;
  /** Called after each step with tools: true ends the turn with the model's text so far. */
  readonly stopWhen?: (
    step: { readonly results: readonly CallResult[]; readonly iteration: number },
    turn: Turn,
  ) => MaybePromise<boolean>;
}

const settingNames: OptionNames<ModelSettings> = {
  temperature: 'number',
  maxOutputTokens: 'number',
  topP: 'number',
  topK: 'number',
  presencePenalty: true,
  frequencyPenalty: true,
  seed: true,
  stopSequences: 'list',
  reasoning: 'string',
  providerOptions: 'object',
};

export const llmOptionNames: OptionNames<LlmAgentOptions> = {
  ...agentOptionNames,
  model: true,
  instruction: true,
  tools: true,
  subAgents: 'list',
  output: true,
  outputKey: 'string',
  artifactId: 'string',
  streams: 'boolean',
  showsFillers: 'boolean',
  settings: { names: settingNames },
  maxIterations: 'number',
  maxTokens: 'number',
  historyTurns: 'number',
  historyTokens: 'number',
  maxParallelTools: 'number',
  modelRetries: 'number',
  modelTimeoutMs: 'number',
  toolTimeoutMs: 'number',
  maxResultCharacters: 'number',
  random: 'function',
  credentials: 'function',
  stopWhen: 'function',
  prepareStep: 'function',
  beforeAgent: 'function',
  afterAgent: 'function',
  onModelError: 'function',
  onToolError: 'function',
  compaction: { oneOf: [['cut', 'summarise'], { names: compactionNames }] },
  beforeModel: 'function',
  afterModel: 'function',
  beforeTool: 'function',
  afterTool: 'function',
};

const stepNames: OptionNames<StepSettings> = {
  model: true,
  tools: 'list',
  toolChoice: {
    oneOf: [['auto', 'required', 'none'], { names: { tool: 'string' }, required: ['tool'] }],
  },
  settings: { names: settingNames },
};

/** Refuses what `prepareStep` may not say, and tools that the agent does not have. */
export function checkStep(
  agent: string,
  step: StepSettings,
  tools: ReadonlyMap<string, unknown>,
): void {
  const owner = `prepareStep of agent "${agent}"`;
  checkOptions(owner, step, stepNames);
  const { toolChoice } = step;
  const forced = typeof toolChoice === 'object' ? [toolChoice.tool] : [];
  const known = [...tools.keys()];
  const unknown = [...(step.tools ?? []), ...forced].find((name) => !tools.has(name));
  if (unknown !== undefined) {
    const all = known.length === 0 ? 'the agent has no tools' : `known are ${known.join(', ')}`;
    throw invalidConfiguration(
      `${owner}: no tool is named "${unknown}"; ${suggest(unknown, known, all) ?? all}`,
    );
  }
  const left = forced.find((name) => step.tools?.includes(name) === false);
  if (left !== undefined)
    throw invalidConfiguration(`${owner}: toolChoice is "${left}", which its "tools" leave out`);
}

/** All options, with their defaults filled in. */
export type LlmSettings = ReturnType<typeof resolveOptions>;

export function resolveOptions(options: LlmAgentOptions) {
  const owner = `agent "${options.name}"`;
  const { output } = options;
  if (output !== undefined) checkSchema(`${owner}: its output`, output);
  return {
    ...options,
    model: modelLoader(owner, options.model),
    schema: output === undefined ? undefined : valueSchema(output, `${owner}: its output`),
    instruction: options.instruction ?? '',
    tools: toolSources(owner, options.tools ?? []),
    subAgents: options.subAgents ?? [],
    artifactId: options.artifactId ?? 'answer',
    streams: options.streams ?? true,
    showsFillers: options.showsFillers ?? true,
    settings: options.settings ?? {},
    maxIterations: options.maxIterations ?? 16,
    maxTokens: options.maxTokens ?? 0,
    historyTurns: options.historyTurns ?? 20,
    historyTokens: options.historyTokens ?? 50_000,
    compaction: resolveCompaction(owner, options.compaction ?? 'cut'),
    maxParallelTools: options.maxParallelTools ?? 8,
    modelRetries: options.modelRetries ?? 2,
    modelTimeoutMs: options.modelTimeoutMs ?? 120_000,
    toolTimeoutMs: options.toolTimeoutMs ?? 60_000,
    maxResultCharacters: options.maxResultCharacters ?? 100_000,
    random: options.random ?? Math.random,
  };
}
