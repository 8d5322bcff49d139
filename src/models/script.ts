import { type JsonObject, type JsonValue, LegateError } from '../protocol/index.ts';

/**
 * A reply of a script: text, or any outcome that a real model can have.
 * @example const replies: readonly ScriptedReply[] = ['start flow transfer_money', { hang: true }];
 */
export type ScriptedReply = string | ScriptedAnswer;

/**
 * One reply of a script, with all its options.
 * @example const busy: ScriptedAnswer = { error: { status: 429, headers: { 'retry-after': '2' } } };
 */
export interface ScriptedAnswer {
  readonly text?: string;
  /** Reasoning, sent in a separate part. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  readonly usage?: { readonly input: number; readonly output: number };
  /** @default 'stop', or 'tool_calls' if there are tool calls */
  readonly finishReason?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** Delay before the answer, in milliseconds. */
  readonly delayMs?: number;
  /** Delay between the chunks of a stream, in milliseconds. */
  readonly chunkDelayMs?: number;
  /** Answers with an HTTP error instead. */
  readonly error?: {
    readonly status: number;
    readonly message?: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Never answers; the caller's timeout ends the call. */
  readonly hang?: boolean;
  /** Breaks the connection before the answer or during it. */
  readonly disconnect?: 'before' | 'midway';
  /** Sends this text unchanged as the body, with status 200. */
  readonly rawBody?: string;
}

/**
 * A tool call in a reply of a script.
 * @example
 * const call: ScriptedToolCall = { name: 'find_order', input: { number: 'A-17' } };
 * const model = scriptedModel([{ toolCalls: [call] }, 'It is on its way.']);
 */
export interface ScriptedToolCall {
  readonly name: string;
  readonly input: JsonValue;
  /** @default made from the position */
  readonly id?: string;
}

/**
 * A request to a scripted model, in the same form from code and over HTTP.
 * @example const isOffered = (request: ScriptedRequest, tool: string) => request.tools.includes(tool);
 */
export interface ScriptedRequest {
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  /** The text of the last user message. */
  readonly lastUserText: string;
  /** All text of the prompt. */
  readonly promptText: string;
  readonly tools: readonly string[];
  readonly isStream: boolean;
  /** The requested response schema, if any. */
  readonly responseSchema: JsonObject | undefined;
}

/**
 * The replies in the order of the calls, or a function that chooses one. A call beyond the last reply
 * fails, so that a test notices unexpected calls.
 * @example
 * const script: Script = ({ lastUserText }, index) =>
 *   index === 0 ? { error: { status: 503 } } : `You said: ${lastUserText}`;
 */
export type Script =
  | readonly ScriptedReply[]
  | ((request: ScriptedRequest, index: number) => ScriptedReply | Promise<ScriptedReply>);

/** Replays a script and records the requests. */
export class ScriptPlayer {
  readonly requests: ScriptedRequest[] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  async next(request: ScriptedRequest): Promise<ScriptedAnswer> {
    const index = this.requests.length;
    this.requests.push(request);
    const reply =
      typeof this.#script === 'function' ? await this.#script(request, index) : this.#script[index];
    if (reply === undefined) {
      const asked = request.lastUserText.slice(0, 200);
      throw new LegateError(
        'INTERNAL',
        `the script has no reply number ${index + 1}; it was asked: ${asked}`,
      );
    }
    return typeof reply === 'string' ? { text: reply } : reply;
  }
}

/**
 * A script that selects the reply by the text of the last user message: the first matching rule wins.
 * @example scriptedModel(whenAsked([[/balance/, 'start flow check_balance']], 'hello'))
 */
export function whenAsked(
  rules: readonly (readonly [RegExp, ScriptedReply])[],
  otherwise?: ScriptedReply,
): (request: ScriptedRequest) => ScriptedReply {
  return (request) => {
    const rule = rules.find(([pattern]) => pattern.test(request.lastUserText));
    const reply = rule?.[1] ?? otherwise;
    if (reply === undefined) {
      throw new LegateError('INTERNAL', `no rule fits: ${request.lastUserText.slice(0, 200)}`);
    }
    return reply;
  };
}
