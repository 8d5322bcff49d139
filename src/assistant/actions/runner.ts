import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Domain } from '../model.ts';
import type { EventDraft } from '../tracker/index.ts';
import type { BotMessage } from '../bot-message.ts';

/**
 * Runs the custom actions of a project. What it throws ends the flow that asked for the action,
 * and the user gets one message of apology.
 * @example
 * const actions: ActionRunner = {
 *   has: (name) => name === 'action_price',
 *   run: async () => ({ events: [], messages: [{ text: 'Ten euros.' }] }),
 * };
 */
export interface ActionRunner {
  /** Whether it can run the action; a declared action that nobody can run fails when it is reached. */
  has(name: string): boolean;
  run(call: ActionCall): Promise<ActionResult>;
}

/**
 * All that an action may know.
 * @example
 * const run = async ({ slots, signal }: ActionCall): Promise<ActionResult> => {
 *   const price = await priceOf(slots['weight'], { signal });
 *   return { messages: [{ text: `That is ${price} euros.` }], events: [slotSet('price', price)] };
 * };
 */
export interface ActionCall {
  readonly name: string;
  readonly senderId: string;
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The whole tracker as JSON, with as many of its events as are cheap to have; made when asked for. */
  tracker(): Promise<JsonObject>;
  readonly domain: Domain;
  /** Of the pattern that runs the action. */
  readonly context: JsonObject;
  readonly channel: string;
  /** Shows a piece of a message at once. */
  readonly stream: (piece: StreamPiece) => Promise<void>;
  /** Names things: streams, ... */
  readonly newId: () => string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What an action wants to be said and to be true, in this order.
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
 * A message, or a response of the domain by name; fields beside a name extend the response.
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
 * A message as it comes to be: one start, any number of chunks, one end.
 * @example
 * const show = (piece: StreamPiece) => piece.kind === 'chunk' && process.stdout.write(piece.text);
 */
export type StreamPiece =
  | { readonly kind: 'start'; readonly streamId: string }
  | { readonly kind: 'chunk'; readonly streamId: string; readonly text: string }
  | { readonly kind: 'end'; readonly streamId: string };

/**
 * The action does not want to run now; says so instead of failing.
 * @example if (slots['amount'] === null) throw new ActionRejected('there is no amount yet');
 */
export class ActionRejected extends Error {
  override readonly name = 'ActionRejected';
}

/**
 * Several runners as one: the first that has an action runs it.
 * @example
 * const remote = new RemoteActions({ url: 'http://localhost:5055/webhook' });
 * const actions = firstOf(new InProcessActions([rate]), remote);
 */
export function firstOf(...runners: readonly ActionRunner[]): ActionRunner {
  const find = (name: string) => runners.find((runner) => runner.has(name));
  return {
    has: (name) => find(name) !== undefined,
    run: (call) => {
      const runner = find(call.name);
      if (runner !== undefined) return runner.run(call);
      return Promise.reject(
        new Error(`nobody runs action ${call.name}: define it or configure an action server`),
      );
    },
  };
}
