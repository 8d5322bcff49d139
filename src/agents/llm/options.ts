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
 * Settings of model calls; the model uses its defaults for unset ones.
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
 * Settings of one model call that differ from the agent's options.
 * @example const first: StepSettings = { tools: ['search'], toolChoice: 'required' };
 */
export interface StepSettings {
  /** The model of the step. @default the agent's */
  readonly model?: ModelSource;
  /** Names of the tools that the model is offered. @default all */
  readonly tools?: readonly string[];
  /**
   * Whether the model can call tools, must call one, must not, or must call the named one.
   * @default 'auto'
   */
  readonly toolChoice?: 'auto' | 'required' | 'none' | { readonly tool: string };
  /** Override the agent's settings. */
  readonly settings?: ModelSettings;
}

/**
 * Callbacks for the steps of the loop.
 * @example
 * const callbacks: LlmCallbacks = {
 *   beforeModel: (_, turn) =>
 *     textOf(turn.message) === 'ping' ? { answer: 'pong' } : undefined,
 *   beforeTool: ({ name }) =>
 *     name === 'call_office' && isHoliday() ? { result: 'The office is closed.' } : undefined,
 * };
 */
export interface LlmCallbacks {
  /** Runs before the first step of each turn; can answer in place of the agent. */
  readonly beforeAgent?: (turn: Turn) => MaybePromise<{ readonly answer: string } | undefined>;
  /** Runs after each turn with its end, which can be a question or a failure; can replace the end. */
  readonly afterAgent?: (end: TurnEnd, turn: Turn) => MaybePromise<TurnEnd | undefined>;
  /** Selects the model, tools and settings of each step; `step` counts the answers of the task from 0. */
  readonly prepareStep?: (
    step: { readonly step: number; readonly prompt: LanguageModelV4Prompt },
    turn: Turn,
  ) => MaybePromise<StepSettings | undefined>;
  /** Runs when the model failed after all attempts; can answer in its place. */
  readonly onModelError?: (
    error: unknown,
    turn: Turn,
  ) => MaybePromise<{ readonly answer: string } | undefined>;
  /** Runs before each model call; can answer in place of the model, or change the call. */
  readonly beforeModel?: (
    call: LanguageModelV4CallOptions,
    turn: Turn,
  ) => MaybePromise<
    { readonly answer: string } | { readonly call: LanguageModelV4CallOptions } | undefined
  >;
  /**
   * Runs after each answer; can replace it. With this callback, text is shown only after the callback
   * has received the whole answer.
   */
  readonly afterModel?: (answer: ModelAnswer, turn: Turn) => MaybePromise<ModelAnswer | undefined>;
  /** Runs before each tool call; can return the result in place of the tool. */
  readonly beforeTool?: (
    call: ToolCallInfo,
    context: ToolContext,
  ) => MaybePromise<{ readonly result: JsonValue } | undefined>;
  /** Runs when a tool threw or timed out; can return a result in its place. */
  readonly onToolError?: (
    call: ToolCallInfo,
    error: unknown,
    context: ToolContext,
  ) => MaybePromise<{ readonly result: JsonValue } | undefined>;
  /** Runs after each tool call; can replace the result. */
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
   * The system prompt. In a string, `{key}` is filled from the session, `{key?}` can be missing. Keys can
   * have the scopes `app:`, `user:` and `temp:`. The result of a function is used unchanged: read
   * `turn.session` in it. @default ''
   */
  readonly instruction?: string | ((turn: Turn) => string | Promise<string>);
  /**
   * The tools that the model can call: a list of tools and tool sets, or tools by name as in the AI
   * SDK.
   * @default none
   */
  readonly tools?: AgentTools;
  /** Agents that the model can transfer the conversation to. */
  readonly subAgents?: readonly Agent[];
  /**
   * The schema of the answer, a Standard Schema or JSON Schema: the answer is then a data part.
   * @default text
   */
  readonly output?: Schema | JsonObject;
  /** The session key under which the answer is saved. */
  readonly outputKey?: string;
  /** The artifact that holds the answer. @default 'answer' */
  readonly artifactId?: string;
  /** Whether text is shown as it arrives. @default true */
  readonly streams?: boolean;
  /**
   * Whether text beside tool calls stays before the answer, in its artifact; if false, the answer
   * replaces it. With `output`, it is published as a status of the task. @default true
   */
  readonly showsFillers?: boolean;
  /** Settings of model calls, such as the temperature. */
  readonly settings?: ModelSettings;
  /** Maximum answers of the model in one task, over all its turns. @default 16 */
  readonly maxIterations?: number;
  /** Maximum input and output tokens of one task; 0 for no limit. @default 0 */
  readonly maxTokens?: number;
  /** Maximum earlier turns of the conversation in the prompt; 0 for none. @default 20 */
  readonly historyTurns?: number;
  /** Maximum tokens of those turns, estimated as four characters each. @default 50_000 */
  readonly historyTokens?: number;
  /**
   * How to handle turns beyond `historyTurns` and `historyTokens`, and turns that exceed the
   * model's context: `cut` replaces them with a mark; `summarise` has the model summarise them,
   * and stores the summary with the conversation.
   * @default 'cut'
   */
  readonly compaction?: 'cut' | 'summarise' | CompactionOptions;
  /** Maximum tools that run concurrently. @default 8 */
  readonly maxParallelTools?: number;
  /** Retries of a failed model call. @default 2 */
  readonly modelRetries?: number;
  /**
   * Maximum time without a part of a streamed answer, or for a whole answer without streaming, in
   * milliseconds.
   * @default 120_000
   */
  readonly modelTimeoutMs?: number;
  /** Timeout of a tool call, in milliseconds; 0 for no limit. @default 60_000 */
  readonly toolTimeoutMs?: number;
  /** Maximum characters of a tool result in the prompt. @default 100_000 */
  readonly maxResultCharacters?: number;
  /** Returns a number in [0, 1), for the jitter of retries. @default Math.random */
  readonly random?: () => number;
  /** Provides the credentials of tools. */
  readonly credentials?: CredentialProvider;
  /** Called after each step with tool calls: true ends the turn with the model's text so far. */
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

/** Throws for invalid results of `prepareStep`, and for tools that the agent does not have. */
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
