import type { Clock, Journal } from '../agents/index.ts';
import type { JsonObject, JsonValue } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { ActionRunner, StreamPiece } from './actions/runner.ts';
import type { BotMessage } from './conversation.ts';
import type { CommandGenerator } from './commands/generator.ts';
import type { CallHandler } from './executor/call-handler.ts';
import type { History } from './executor/dialogue.ts';
import type { Domain, Flow } from './model.ts';
import type { Rephraser, ResponseWriter } from './responses/responder.ts';
import type { Knowledge } from './search/knowledge.ts';

/**
 * What an assistant is made of.
 * @example
 * const options: AssistantOptions = {
 *   domain, flows, generator: matchingGenerator({ timeZone: 'Europe/Rome' }),
 *   maxSteps: 200,
 *   random: () => 0, // the first of equal responses, so that a test is deterministic
 * };
 */
export interface AssistantOptions {
  readonly domain: Domain;
  /** User flows and patterns, the default ones included. */
  readonly flows: ReadonlyMap<string, Flow>;
  readonly generator: CommandGenerator;
  /** @default none: an action of the project fails when it is reached. */
  readonly actions?: ActionRunner;
  /** For `call:` steps that lead to agents and tools; closed with the assistant. @default [] */
  readonly callHandlers?: readonly CallHandler[];
  /** What each sub agent does, by its name. @default none */
  readonly agentDescriptions?: ReadonlyMap<string, string>;
  /** Rewords responses with a model. @default none: responses are sent as written */
  readonly rephraser?: Rephraser;
  /** Generates responses outside of the domain, for example with an NLG server. @default none */
  readonly writer?: ResponseWriter;
  /** Answers questions from documents (`action_trigger_search`). @default none */
  readonly knowledge?: Knowledge;
  /** Maximum length of a user message, in characters. @default 420 */
  readonly maxCharacters?: number;
  /** Maximum number of steps in one turn; the turn stops with an error beyond it. @default 1000 */
  readonly maxSteps?: number;
  /** Several flows at once, with none active, become a question. @default false */
  readonly clarifyOnMultipleStartFlows?: boolean;
  /** Put on every event: model id, assistant id. @default {} */
  readonly eventMetadata?: JsonObject;
  /** @default the system's */
  readonly clock?: Clock;
  /** At least 0 and less than 1; chooses among equal responses. @default Math.random */
  readonly random?: () => number;
  /** Names sessions and messages. @default random UUIDs */
  readonly newId?: () => string;
  /** @default warnings and errors on standard error */
  readonly logger?: Logger;
}

/**
 * One message, and the conversation it belongs to.
 * @example
 * const request: TurnRequest = {
 *   senderId: 'ada', tracker: saved, text: 'Send 50 euros to Bob', slots: { currency: 'EUR' },
 *   signal: AbortSignal.timeout(30_000),
 * };
 */
export interface TurnRequest {
  readonly senderId: string;
  readonly userId?: string;
  /** What the turn before returned; undefined in a new conversation. */
  readonly tracker: JsonObject | undefined;
  readonly text: string;
  /** @default a new id */
  readonly messageId?: string;
  /** @default {} */
  readonly metadata?: JsonObject;
  /** @default 'rest' */
  readonly channel?: string;
  /** What an orchestrator knows already. @default {} */
  readonly slots?: Readonly<Record<string, JsonValue>>;
  readonly signal?: AbortSignal;
  /** Called with each bot message as it is sent; the turn awaits the callback. */
  readonly onMessage?: (message: BotMessage) => void | Promise<void>;
  /** Called with each chunk of a message that an action streams. */
  readonly onChunk?: (piece: StreamPiece) => void | Promise<void>;
  /** Called with each step that is taken, patterns included. */
  readonly onStep?: (flowId: string, stepId: string) => void;
  /**
   * Loads earlier events, lazily: for actions that read them, and for `rewind`, `undo` and
   * `action_back`, which have no effect in a conversation under way without it.
   */
  readonly history?: History;
  /** The journal of a turn that may run again after its process died. @default none: it never does */
  readonly journal?: Journal | undefined;
}
