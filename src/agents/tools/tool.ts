import {
  type Artifact,
  checkOptions,
  invalidConfiguration,
  type JsonObject,
  type JsonValue,
  type Message,
  type OptionNames,
  ownerOf,
  type Part,
  toParts,
} from '../../protocol/index.ts';
import type { ArtifactChunk, Session, Turn, Working } from '../agent.ts';
import type { Steps } from '../steps/step-log.ts';
import type { Usage } from '../usage.ts';
import type { Credential, CredentialRequirement } from './credentials.ts';
import { checkSchema, type OutputOf, type Parsed, type Schema, valueSchema } from './schema.ts';

/**
 * The context of a tool call.
 * @example
 * const run = async (input: { city: string }, { signal, emit }: ToolContext) => {
 *   await emit(working(`Looking out of the window in ${input.city}`));
 *   return stations.read(input.city, { signal });
 * };
 */
export interface ToolContext {
  /** The id of the call, unique in its task. */
  readonly callId: string;
  /** The calling agent. */
  readonly agent: string;
  /** The turn that the call is part of, with its message and caller. */
  readonly turn: Turn;
  /** The state of the conversation. */
  readonly session: Session;
  /** Aborts with the turn, and when the tool times out. */
  readonly signal: AbortSignal;
  /** Defined if the tool requires one. */
  readonly credential?: Credential;
  /** Records steps within the call; absent if steps are not recorded. */
  readonly steps?: Steps | undefined;
  /** Sends progress to the caller. */
  readonly emit: (event: Working | Artifact | ArtifactChunk) => Promise<void>;
  /**
   * Ends the turn after this step. The text of the model beside the call is its answer. With
   * `escalate`, an enclosing loop ends, too.
   */
  readonly endTurn: (options?: { readonly escalate?: boolean }) => void;
  /** Adds the token usage of models that the tool called. */
  readonly addUsage: (usage: Partial<Usage>) => void;
}

/**
 * The question of a tool that pauses, and its saved state.
 * @example const pause: ToolPauseOptions = { question: [text('Small or large?')], state: { dish: 'pizza' } };
 */
export interface ToolPauseOptions {
  /** The question to the caller, as text or parts. */
  readonly question: string | Part | readonly Part[];
  /** Whether the caller must authorize elsewhere instead of answering. @default false */
  readonly needsAuthorization?: boolean;
  /** Saved with the conversation, and passed to `resume` with the answer. */
  readonly state?: JsonValue;
}

const pauseNames: OptionNames<ToolPauseOptions> = {
  question: true,
  needsAuthorization: 'boolean',
  state: true,
};

/**
 * A tool returns this if it needs an answer of its caller to continue. The turn ends with the question.
 * `resume` of the tool gets the message that continues the task, even days later or after a restart.
 * @example return new ToolPause({ question: 'Which colour?' });
 */
export class ToolPause {
  readonly question: readonly Part[];
  readonly needsAuthorization: boolean;
  readonly state: JsonValue | undefined;

  constructor(options: ToolPauseOptions) {
    checkOptions('ToolPause', options, pauseNames, ['question']);
    this.question = toParts(options.question);
    this.needsAuthorization = options.needsAuthorization ?? false;
    this.state = options.state;
  }
}

/**
 * The caller's answer to a tool that paused.
 * @example const resume = ({ message, state }: ToolAnswer) => ({ order: state, size: textOf(message) });
 */
export interface ToolAnswer {
  readonly message: Message;
  /** The state of the pause. */
  readonly state: JsonValue | undefined;
}

/**
 * A function that a model can call, created by `tool`. `Context` is the context of its calls.
 * @example
 * const isHarmless = (each: Tool) => each.isIdempotent && each.credentials === undefined;
 * const few = onlyTools(set, isHarmless);
 */
export interface Tool<Context = ToolContext> {
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** JSON Schema of the input: an object. */
  readonly inputSchema: JsonObject;
  readonly isLongRunning: boolean;
  /** Whether it is safe to run it again with the same input. */
  readonly isIdempotent: boolean;
  /** Milliseconds. */
  readonly timeoutMs: number | undefined;
  /** The credential that the tool needs; the caller is asked for one that is missing. */
  readonly credentials: CredentialRequirement | undefined;
  /** Fetches the description if it comes from elsewhere. Called before a model is offered the tool. */
  prepare?(signal?: AbortSignal): Promise<void>;
  /** Whether the caller must confirm a call; a string is the text of the question. */
  confirmation(input: unknown, context: Context): Promise<string | boolean>;
  parse(input: JsonValue): Promise<Parsed>;
  /** Returns any value that JSON can represent, or a `ToolPause`. */
  run(input: unknown, context: Context): Promise<unknown>;
  /** Resumes after a `ToolPause`. Without it, the answer is the result. */
  resume?(answer: ToolAnswer, context: Context): Promise<unknown>;
  /** The task was cancelled while the tool was paused. */
  abandon?(state: JsonValue | undefined, turn: Turn): Promise<void>;
}

/**
 * Properties and function of a tool.
 * @example
 * const options: ToolOptions<JsonObject> = {
 *   name: 'print_label',
 *   description: 'Prints the label of the current order.',
 *   isLongRunning: true,
 *   run: (_, { callId }) => printer.queue(callId),
 * };
 */
export interface ToolOptions<S extends Schema | JsonObject, Context = ToolContext> {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** A Standard Schema (zod, valibot, arktype), or JSON Schema. @default no input */
  readonly input?: S;
  /** Runs the tool. Returns any value that JSON can represent, or a `ToolPause`. */
  readonly run: (input: OutputOf<S>, context: Context) => unknown;
  /**
   * Asks the caller before the tool runs: always, or if the function returns true or the text of the
   * question.
   * @default false
   */
  readonly needsConfirmation?:
    | boolean
    | ((input: OutputOf<S>, context: Context) => string | boolean | Promise<string | boolean>);
  /**
   * `run` only starts the work. Its return value is shown to the caller, whose next message contains
   * the result. @default false
   */
  readonly isLongRunning?: boolean;
  /**
   * Running it twice has the same effect as once: it runs again if a crash left its outcome unknown.
   * @default false
   */
  readonly isIdempotent?: boolean;
  /** The credential that the tool needs; the caller is asked for one that is missing. */
  readonly credentials?: CredentialRequirement;
  /** Milliseconds. @default the agent's `toolTimeoutMs` */
  readonly timeoutMs?: number;
  /** Resumes after a `ToolPause` with the answer. @default the answer is the result */
  readonly resume?: (answer: ToolAnswer, context: Context) => unknown;
  /** The task was cancelled while the tool was paused. */
  readonly abandon?: (state: JsonValue | undefined, turn: Turn) => Promise<void>;
}

const optionNames: OptionNames<ToolOptions<JsonObject>> = {
  name: 'string',
  description: 'string',
  input: true,
  run: 'function',
  needsConfirmation: { oneOf: ['boolean', 'function'] },
  isLongRunning: 'boolean',
  isIdempotent: 'boolean',
  credentials: 'object',
  timeoutMs: 'number',
  resume: 'function',
  abandon: 'function',
};
const toolName = /^[A-Za-z_][\w-]{0,63}$/;
const noInput: JsonObject = { type: 'object', properties: {} };

/**
 * Creates a tool from a function.
 * @example
 * const transfer = tool({
 *   name: 'transfer_money',
 *   description: 'Transfers money between accounts.',
 *   input: z.object({ to: z.string(), amount: z.number().positive() }),
 *   needsConfirmation: ({ amount }) => amount > 100,
 *   run: ({ to, amount }) => bank.transfer(to, amount),
 * });
 */
export function tool<const S extends Schema | JsonObject, Context = ToolContext>(
  options: ToolOptions<S, Context>,
): Tool<Context> {
  const owner = ownerOf('tool', options);
  checkOptions(owner, options, optionNames, ['name', 'description', 'run']);
  const { name, description, run, needsConfirmation = false, resume, abandon } = options;
  if (!toolName.test(name)) {
    throw invalidConfiguration(
      `invalid tool name "${name}": use up to 64 letters, digits, "_" and "-"`,
    );
  }
  const input = options.input ?? noInput;
  checkSchema(`${owner}: its input`, input);
  const schema = valueSchema(input, `${owner}: its input`);
  return {
    name,
    description,
    inputSchema: schema.jsonSchema,
    isLongRunning: options.isLongRunning ?? false,
    isIdempotent: options.isIdempotent ?? false,
    timeoutMs: options.timeoutMs,
    credentials: options.credentials,
    parse: (input) => schema.parse(input),
    confirmation: async (input, context) =>
      typeof needsConfirmation === 'function'
        ? needsConfirmation(asOutput<S>(input), context)
        : needsConfirmation,
    run: async (input, context) => run(asOutput<S>(input), context),
    ...(resume !== undefined && {
      resume: async (answer: ToolAnswer, context: Context) => resume(answer, context),
    }),
    ...(abandon !== undefined && { abandon }),
  };
}

/** A value that `parse` of the same tool returned. */
function asOutput<S>(value: unknown): OutputOf<S> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- tools of all inputs share one type
  return value as OutputOf<S>;
}
