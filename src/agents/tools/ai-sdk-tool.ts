import {
  errorMessage,
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  type LegateError,
} from '../../protocol/index.ts';
import { checkSchema, type Schema, valueSchema } from './schema.ts';
import { type Tool, tool, type ToolContext } from './tool.ts';
import type { ToolSource } from './tool-set.ts';

/**
 * A tool from `tool()` of the AI SDK. It has no name: the record of tools gives it one.
 * @example
 * import { tool as aiTool } from 'ai';
 * llmAgent({ name: 'forecaster', model, tools: { weather: aiTool({ inputSchema, execute }) } });
 */
export interface AiSdkTool {
  /** AI SDK 5 uses `provider-defined` for `provider`. */
  readonly type?: 'function' | 'dynamic' | 'provider' | 'provider-defined' | undefined;
  readonly description?: string | ((options: never) => string) | undefined;
  /** A Standard Schema, or the result of `jsonSchema()` or `zodSchema()` of the AI SDK. */
  readonly inputSchema?: unknown;
  /** If absent, the caller of the agent sends the result. */
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly needsApproval?: boolean | ((input: never, options: never) => unknown) | undefined;
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
}

/**
 * The tools of an agent: a list, or a record by name, as in the AI SDK.
 * @example const tools: AgentTools = { weather: aiSdkTool, files: mcpTools({ name: 'files', command: 'files-server' }) };
 */
export type AgentTools = readonly ToolSource[] | Readonly<Record<string, ToolSource | AiSdkTool>>;

/** Converts all tools to one form. Throws for other values, and for tools of the AI SDK without a name. */
export function toolSources(owner: string, tools: AgentTools): readonly ToolSource[] {
  if (isList(tools)) {
    for (const [index, each] of tools.entries())
      if (!isSource(each)) throw notATool(owner, index, each);
    return tools;
  }
  if (tools instanceof Promise)
    throw invalidConfiguration(`${owner}: the option "tools" is a promise; await it first`);
  return Object.entries(tools).map(([name, each]) => {
    if (isSource(each)) return each;
    if (each.type === 'provider' || each.type === 'provider-defined')
      throw invalidConfiguration(
        `${owner}: the tool "${name}" runs at the model's provider, which is not supported`,
      );
    if (each.inputSchema === undefined) throw notATool(owner, name, each);
    const what = `${owner}: the inputSchema of the tool "${name}"`;
    const given: unknown = each.inputSchema;
    // Results of the AI SDK's `jsonSchema()` are read later, since they can be promises.
    if (!isLazy(given) && !isWrapped(given)) {
      checkSchema(what, given);
      valueSchema(given, what);
    }
    let made: Promise<readonly Tool[]> | undefined;
    // A set, since the JSON Schema may have to be awaited.
    return { name, tools: () => (made ??= fromAiSdk(name, each)) };
  });
}

async function fromAiSdk(name: string, source: AiSdkTool): Promise<readonly Tool[]> {
  const { description, needsApproval = false } = source;
  const execute = callable(source.execute);
  const approval = typeof needsApproval === 'function' ? callable(needsApproval) : undefined;
  const toModelOutput = callable(source.toModelOutput);
  const options = ({ callId: toolCallId, signal: abortSignal }: ToolContext) => ({
    toolCallId,
    abortSignal,
    messages: [],
    context: {},
  });
  const words = typeof description === 'function' ? callable(description)?.({}) : description;
  const made = tool({
    name,
    description: typeof words === 'string' ? words : name,
    input: await schemaOf(source.inputSchema),
    isLongRunning: execute === undefined,
    needsConfirmation: async (input, context) =>
      approval === undefined
        ? needsApproval === true
        : (await approval(input, options(context))) === true,
    run: async (input, context) => {
      if (execute === undefined) return input;
      const output = await last(execute(input, options(context)));
      if (toModelOutput === undefined) return output;
      return valueOf(await toModelOutput({ toolCallId: context.callId, input, output }));
    },
  });
  return [made];
}

/** A generator yields preliminary results; its last value is the result. */
async function last(output: unknown): Promise<unknown> {
  if (!isAsyncIterable(output)) return output;
  let value: unknown;
  for await (const each of output) value = each;
  return value;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** The tool's output for its model. */
function valueOf(output: unknown): unknown {
  if (typeof output !== 'object' || output === null || !('type' in output) || !('value' in output))
    return output;
  if (typeof output.type === 'string' && output.type.startsWith('error')) {
    throw new Error(typeof output.value === 'string' ? output.value : JSON.stringify(output.value));
  }
  return output.value;
}

async function schemaOf(given: unknown): Promise<Schema | JsonObject> {
  const source: unknown = isLazy(given) ? given() : given;
  if (!isWrapped(source)) {
    checkSchema('the inputSchema of a tool', source);
    return source;
  }
  const jsonSchema: unknown = await source.jsonSchema;
  if (!isJsonObject(jsonSchema)) return {};
  const validate = 'validate' in source ? callable(source.validate) : undefined;
  if (validate === undefined) return jsonSchema;
  const json = () => jsonSchema;
  return {
    '~standard': {
      jsonSchema: { input: json, output: json },
      validate: async (value) => {
        const result = await validate(value);
        if (typeof result !== 'object' || result === null) return { value };
        if ('value' in result) return { value: result.value };
        const error = 'error' in result ? result.error : undefined;
        return { issues: [{ message: errorMessage(error) }] };
      },
    },
  };
}

/** Whether this is a function that returns the schema; schemas of arktype are functions, too. */
function isLazy(source: unknown): source is () => unknown {
  return typeof source === 'function' && !('~standard' in source);
}

/** Whether this is the result of `jsonSchema()` or `zodSchema()` of the AI SDK. */
function isWrapped(source: unknown): source is { readonly jsonSchema: unknown } {
  return typeof source === 'object' && source !== null && 'jsonSchema' in source;
}

type Callable = (...values: readonly unknown[]) => unknown;

/** The AI SDK types functions by their schema, which has been validated. */
function callable(given: unknown): Callable | undefined {
  return isCallable(given) ? given : undefined;
}

function isCallable(given: unknown): given is Callable {
  return typeof given === 'function';
}

function isList(tools: AgentTools): tools is readonly ToolSource[] {
  return Array.isArray(tools);
}

function isSource(value: ToolSource | AiSdkTool): value is ToolSource {
  if (typeof value !== 'object' || value === null) return false;
  return 'tools' in value || ('name' in value && 'run' in value && 'parse' in value);
}

function notATool(owner: string, at: number | string, value: unknown): LegateError {
  const where = typeof at === 'number' ? `tools[${at}]` : `the tool "${at}"`;
  const isAiSdk = typeof value === 'object' && value !== null && 'inputSchema' in value;
  return invalidConfiguration(
    isAiSdk
      ? `${owner}: ${where} is a tool of the AI SDK, which has no name; pass tools: { name: tool }`
      : `${owner}: ${where} is not a tool; make one with tool({ name, description, run })`,
  );
}
