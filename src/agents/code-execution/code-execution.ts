import { z } from 'zod';
import {
  checkOptions,
  invalidConfiguration,
  type JsonValue,
  LegateError,
  type OptionNames,
  parseJson,
} from '../../protocol/index.ts';
import { KeyedQueue, within } from '../../time/index.ts';
import { toolSources } from '../tools/ai-sdk-tool.ts';
import { type Tool, tool, type ToolContext, ToolPause } from '../tools/tool.ts';
import type { SandboxEnd } from './sandbox.ts';

/**
 * The limits and functions of code. All limits apply to one call.
 * @example const options: CodeExecutionOptions = { functions: [weather], timeoutMs: 2_000, memoryMb: 16 };
 */
export interface CodeExecutionOptions {
  /** The name of the tool. @default 'run_code' */
  readonly name?: string;
  /**
   * Tools that the code can call, as async functions with their names: its only access to anything
   * outside of the sandbox. Tools that pause or need confirmation fail. @default []
   */
  readonly functions?: readonly Tool[];
  /** Timeout including calls of functions, in milliseconds. @default 5_000 */
  readonly timeoutMs?: number;
  /** Memory limit of the sandbox including QuickJS, in MiB: from 16 to 2,048. @default 64 */
  readonly memoryMb?: number;
  /** Maximum characters of printed output, and of the result as JSON. @default 20_000 */
  readonly maxOutputLength?: number;
  /** Maximum characters of the code. @default 100_000 */
  readonly maxCodeLength?: number;
  /** Maximum calls of functions. @default 50 */
  readonly maxCalls?: number;
  /** Maximum sandboxes that run concurrently in this process; further calls wait. @default 2 */
  readonly maxConcurrent?: number;
  /** Whether the caller is shown the code and must confirm it before it runs. @default false */
  readonly needsConfirmation?: boolean;
}

const optionNames: OptionNames<CodeExecutionOptions> = {
  name: 'string',
  functions: 'list',
  timeoutMs: 'number',
  memoryMb: 'number',
  maxOutputLength: 'number',
  maxCodeLength: 'number',
  maxCalls: 'number',
  maxConcurrent: 'number',
  needsConfirmation: 'boolean',
};

/**
 * Milliseconds in addition to the code's timeout, for the start of the thread and for calls that run
 * first.
 */
const overheadMs = 60_000;
const identifier = /^[A-Za-z_$][\w$]*$/;

/**
 * A tool that runs JavaScript that a model wrote: in QuickJS, compiled to WebAssembly, in a separate
 * thread. The code can use the language and `console`, but no network, files, timers or modules;
 * `functions` lists the tools that it can call. Each call starts without state.
 * @example
 * const agent = llmAgent({ name: 'analyst', model, tools: [codeExecution({ functions: [orders] })] });
 */
export function codeExecution(options: CodeExecutionOptions = {}): Tool {
  checkOptions('codeExecution', options, optionNames);
  const { name = 'run_code', functions = [], timeoutMs = 5_000, memoryMb = 64 } = options;
  const { maxOutputLength = 20_000, maxCodeLength = 100_000, maxCalls = 50 } = options;
  const limits = { timeoutMs, memoryMb, maxOutputLength, maxCodeLength, maxCalls };
  for (const [limit, value] of Object.entries(limits)) {
    if (!Number.isFinite(value) || value <= 0)
      throw invalid(`${limit} must be a number above 0, not ${value}`);
  }
  if (memoryMb < 16 || memoryMb > 2_048) {
    throw invalid(
      `memoryMb must be from 16 to 2,048, not ${memoryMb}: QuickJS itself needs 16 MiB`,
    );
  }
  toolSources('codeExecution', functions);
  const byName = new Map(functions.map((each) => [each.name, each]));
  for (const each of functions) check(each);
  const queue = new KeyedQueue({
    perKey: options.maxConcurrent ?? 2,
  });
  return tool({
    name,
    description: describe(functions, limits),
    input: z.object({
      code: z.string().max(maxCodeLength).describe('JavaScript (ES2023), without imports'),
    }),
    needsConfirmation: options.needsConfirmation ?? false,
    // Code without functions has no effect except its result.
    isIdempotent: functions.every(({ isIdempotent }) => isIdempotent),
    timeoutMs: timeoutMs + overheadMs,
    run: async ({ code }, context) => {
      const { signal } = context;
      // Loaded when a model first runs code.
      const { runSandbox } = await import('./sandbox.ts');
      const request = {
        code,
        timeoutMs,
        memoryBytes: memoryMb * 1024 * 1024,
        maxOutputLength,
        functions: [...byName.keys()],
        maxCalls,
      };
      const call = (called: string, input: string, ended: AbortSignal) =>
        callFunction(byName.get(called), input, { ...context, signal: ended });
      const end = await queue.run('', () => runSandbox(request, { call, signal }), { signal });
      return toResult(end, limits);
    },
  });
}

function check({ name, isLongRunning, credentials }: Tool): void {
  if (!identifier.test(name))
    throw invalid(`the function "${name}" can't be called from code: use letters, digits and "_"`);
  if (isLongRunning || credentials !== undefined)
    throw invalid(`the function "${name}" waits for its caller, which code can't do`);
}

async function callFunction(
  called: Tool | undefined,
  json: string,
  context: ToolContext,
): Promise<string> {
  if (called === undefined) throw new Error('there is no such function');
  const parsed = await called.parse(parseJson(json));
  if (!parsed.ok) throw new Error(`invalid input of ${called.name}: ${parsed.problem}`);
  if ((await called.confirmation(parsed.value, context)) !== false)
    throw new Error(`${called.name} needs a confirmation, which code can't ask for`);
  const { name, timeoutMs: milliseconds = 0 } = called;
  const reason = (): LegateError =>
    new LegateError('REQUEST_TIMEOUT', `${name} gave no result within ${milliseconds} ms`);
  const result = await within({ milliseconds, signal: context.signal, reason }, async (signal) =>
    called.run(parsed.value, { ...context, signal }),
  );
  if (result instanceof ToolPause)
    throw new Error(`${called.name} waits for its caller, which code can't do`);
  return JSON.stringify(result) ?? 'null';
}

function toResult(
  { output, isCut, result, error, isLate }: SandboxEnd,
  { timeoutMs, maxOutputLength }: { readonly timeoutMs: number; readonly maxOutputLength: number },
): Readonly<Record<string, JsonValue>> {
  const cut = isCut ? `\n… (more than ${maxOutputLength} characters were printed)` : '';
  const late = `the code was stopped after ${timeoutMs} ms`;
  return {
    ...(output !== '' && { output: `${output}${cut}` }),
    ...(result !== undefined && { result: parseJson(result) }),
    ...(isLate === true ? { error: late } : error !== undefined && { error }),
  };
}

function describe(
  functions: readonly Tool[],
  { timeoutMs, memoryMb }: { readonly timeoutMs: number; readonly memoryMb: number },
): string {
  const lines = [
    'Runs JavaScript in a sandbox, for calculations and work on data. The result is the value of the last expression, or of `return`; console.log prints. Every call starts anew: nothing is kept. There is no network, no file system, no timer and no module.',
    `Limits: ${timeoutMs / 1000} s, ${memoryMb} MiB.`,
  ];
  if (functions.length === 0) return lines.join(' ');
  const signatures = functions.map(
    ({ name, description, inputSchema }) =>
      `- await ${name}(input): ${description} Input: ${JSON.stringify(inputSchema)}`,
  );
  return [lines.join(' '), 'These async functions can be called:', ...signatures].join('\n');
}

function invalid(message: string): LegateError {
  return invalidConfiguration(`codeExecution: ${message}`);
}
