import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { BotMessage } from '../conversation.ts';
import type { Domain } from '../model.ts';
import type { EventDraft } from '../tracker/events.ts';

/**
 * Runs the custom actions of a project. An error ends the flow that runs the action, and the assistant
 * sends one error message.
 * @example
 * const actions: ActionRunner = {
 *   has: (name) => name === 'action_price',
 *   run: async () => ({ events: [], messages: [{ text: 'Ten euros.' }] }),
 * };
 */
export interface ActionRunner {
  /** Whether it can run the action. A declared action without a runner fails when a flow reaches it. */
  has(name: string): boolean;
  run(call: ActionCall): Promise<ActionResult>;
  /**
   * Whether an action may run again after the process of its turn died.
   * @default false
   */
  isIdempotent?(name: string): boolean;
  /** Releases processes and connections. Called when the assistant is closed. */
  close?(): Promise<void>;
}

/** The part of a turn that actions, sub agents and tools can read. */
export interface TurnContext {
  readonly senderId: string;
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The tracker as JSON with its latest events; computed lazily. */
  readonly tracker: () => Promise<JsonObject>;
  readonly domain: Domain;
  readonly channel: string;
  /** Aborts when the turn is cancelled, or when the action, sub agent or tool exceeds its timeout. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The input of an action.
 * @example
 * const run = async ({ slots, signal }: ActionCall): Promise<ActionResult> => {
 *   const price = await priceOf(slots['weight'], { signal });
 *   return { messages: [{ text: `That is ${price} euros.` }], events: [slotSet('price', price)] };
 * };
 */
export interface ActionCall extends TurnContext {
  readonly name: string;
  /** The context of the frame that runs the action. */
  readonly context: JsonObject;
  /** Streams a chunk of a message. */
  readonly stream: (piece: StreamPiece) => Promise<void>;
  /** Generates ids, for example of streams. */
  readonly newId: () => string;
}

/**
 * The result of an action: messages to send, then events to apply.
 * @example
 * const result: ActionResult = {
 *   messages: [{ response: 'utter_price', values: { price: 12.5 } }], // said before the slot is set
 *   events: [slotSet('price', 12.5)],
 * };
 */
export interface ActionResult {
  readonly messages: readonly ActionMessage[];
  readonly events: readonly EventDraft[];
}

/**
 * A message, or a response of the domain by name. Other fields override those of the response.
 * @example
 * const image = 'https://maps.example.com/7.png';
 * const message: ActionMessage = { response: 'utter_map', image };
 */
export interface ActionMessage extends BotMessage {
  readonly response?: string;
  /** For the templates of the response. */
  readonly values?: JsonObject;
}

/**
 * A streamed message: one start, any number of chunks, one end.
 * @example
 * const show = (piece: StreamPiece) => piece.kind === 'chunk' && process.stdout.write(piece.text);
 */
export type StreamPiece =
  | { readonly kind: 'start'; readonly streamId: string }
  | { readonly kind: 'chunk'; readonly streamId: string; readonly text: string }
  | { readonly kind: 'end'; readonly streamId: string };

/**
 * Thrown by an action that rejects its execution, as opposed to failing.
 * @example if (slots['amount'] === null) throw new ActionRejected('there is no amount yet');
 */
export class ActionRejected extends Error {
  override readonly name = 'ActionRejected';
}

/**
 * Combines several runners: the first one that has an action runs it.
 * @example
 * const remote = new RemoteActions({ url: 'http://localhost:5055/webhook' });
 * const actions = firstOf(new InProcessActions([rate]), remote);
 */
export function firstOf(...runners: readonly ActionRunner[]): ActionRunner {
  const find = (name: string) => runners.find((runner) => runner.has(name));
  return {
    has: (name) => find(name) !== undefined,
    isIdempotent: (name) => find(name)?.isIdempotent?.(name) === true,
    run: (call) => {
      const runner = find(call.name);
      if (runner !== undefined) return runner.run(call);
      return Promise.reject(
        new Error(`no runner for action ${call.name}: define it or configure an action server`),
      );
    },
    close: async () => {
      await Promise.all(runners.map(async (runner) => runner.close?.()));
    },
  };
}

/**
 * An action of a project, written in TypeScript.
 * @example
 * const price: Action = {
 *   name: 'action_price',
 *   run: async ({ slots }) => [slotSet('price', 5 + 2 * Number(slots['weight']))],
 * };
 */
export interface Action {
  readonly name: string;
  /**
   * Whether the action is idempotent, so that a turn whose process died may run it again
   * (`on_interrupted: run-again`). @default false
   */
  readonly isIdempotent?: boolean;
  /** The engine applies returned events after emitted ones. */
  run(context: ActionContext): Promise<readonly EventDraft[] | void>;
}

/**
 * The input and the functions of an action. Messages and slots take effect when the action returns, so
 * that a failed action has no effect. Only streams are sent immediately.
 * @example
 * async function showRate({ utterResponse, signal }: ActionContext) {
 *   const answer = await fetch('https://rates.example.com/today', { signal });
 *   utterResponse('utter_rate', { rate: await answer.text() });
 * }
 */
export interface ActionContext extends TurnContext {
  /** The context of the frame that runs the action. */
  readonly context: JsonObject;
  readonly utter: (message: string | BotMessage) => void;
  /** Sends a response of the domain, with values for its templates. */
  readonly utterResponse: (name: string, values?: JsonObject) => void;
  readonly setSlot: (name: string, value: JsonValue) => void;
  readonly emit: (event: EventDraft) => void;
  /** Streams a message. */
  readonly stream: MessageStream;
}

/**
 * Defines an action of the project.
 * @example
 * export const rate = defineAction({
 *   name: 'action_rate',
 *   async run({ slots, utter, setSlot }) {
 *     setSlot('rate', Number(slots.amount) > 1000 ? 2.5 : 3.1)
 *     utter('I found a rate for you.')
 *   },
 * })
 */
export function defineAction(action: Action): Action {
  return action;
}

/** Maximum length of one stream, in characters. */
const MAX_CHARACTERS = 1024 * 1024;

/**
 * Streams messages. Idle until `start` or the first chunk, open until `end`, then idle again. Each ended
 * stream also becomes one whole message of the action, with the metadata `streamed`: channels that sent
 * the chunks can skip it.
 */
export class MessageStream {
  readonly #show: (piece: StreamPiece) => Promise<void>;
  readonly #newId: () => string;
  readonly #ended: (message: ActionMessage) => void;
  #open: { readonly streamId: string; text: string } | undefined;

  constructor(options: {
    readonly show: (piece: StreamPiece) => Promise<void>;
    readonly newId: () => string;
    readonly ended: (message: ActionMessage) => void;
  }) {
    this.#show = options.show;
    this.#newId = options.newId;
    this.#ended = options.ended;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  async start(): Promise<void> {
    if (this.#open !== undefined)
      throw new Error('the stream is open: end it before starting another');
    this.#open = { streamId: this.#newId(), text: '' };
    await this.#show({ kind: 'start', streamId: this.#open.streamId });
  }

  async chunk(text: string): Promise<void> {
    if (this.#open === undefined) await this.start();
    const open = this.#open;
    if (open === undefined) throw new Error('the stream was ended while a chunk was written');
    open.text += text;
    if (open.text.length > MAX_CHARACTERS) {
      throw new Error(`a stream may hold ${MAX_CHARACTERS} characters: end it and start another`);
    }
    await this.#show({ kind: 'chunk', streamId: open.streamId, text });
  }

  async end(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    await this.#show({ kind: 'end', streamId: open.streamId });
    this.#ended({ text: open.text, metadata: { streamed: true, stream_id: open.streamId } });
  }
}
