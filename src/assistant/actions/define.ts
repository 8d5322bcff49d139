import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Domain } from '../model.ts';
import type { EventDraft } from '../tracker/index.ts';
import type { MessageStream } from './message-stream.ts';
import type { BotMessage } from '../bot-message.ts';

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
  /** Events that it returns are applied after those that it emitted. */
  run(context: ActionContext): Promise<readonly EventDraft[] | void>;
}

/**
 * What an action sees and may do. What it says and sets takes effect when it returns, so that an
 * action that fails has done nothing; only a stream is shown at once.
 * @example
 * async function showRate({ utterResponse, signal }: ActionContext) {
 *   const answer = await fetch('https://rates.example.com/today', { signal });
 *   utterResponse('utter_rate', { rate: await answer.text() });
 * }
 */
export interface ActionContext {
  readonly senderId: string;
  /** Every slot; changes that the action makes do not show here. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The whole conversation as JSON. */
  readonly tracker: () => Promise<JsonObject>;
  readonly domain: Domain;
  /** Of the pattern that runs the action. */
  readonly context: JsonObject;
  readonly channel: string;
  readonly utter: (message: string | BotMessage) => void;
  /** A response of the domain, with values for its templates. */
  readonly utterResponse: (name: string, values?: JsonObject) => void;
  readonly setSlot: (name: string, value: JsonValue) => void;
  readonly emit: (event: EventDraft) => void;
  /** A message that is shown while it comes to be. */
  readonly stream: MessageStream;
  /** Aborts when the turn is cancelled or the action takes too long. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Names a function as an action of the project.
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
