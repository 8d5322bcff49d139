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
 * The parts of an assistant.
 * @example
 * const options: AssistantOptions = {
 *   domain, flows, generator: matchingGenerator({ timeZone: 'Europe/Rome' }),
 *   maxSteps: 200,
 *   random: () => 0, // the first of equal responses, so that a test is deterministic
 * };
 */
export interface AssistantOptions {
  readonly domain: Domain;
  /** User flows and patterns, including the default patterns. */
  readonly flows: ReadonlyMap<string, Flow>;
  readonly generator: CommandGenerator;
  /** @default none: actions of the project fail */
  readonly actions?: ActionRunner;
  /** Handlers of `call:` steps with agents and tools. They are closed with the assistant. @default [] */
  readonly callHandlers?: readonly CallHandler[];
  /** Descriptions of sub agents by name. @default none */
  readonly agentDescriptions?: ReadonlyMap<string, string>;
  /** Rewords responses with a model. @default none: responses are sent as written */
  readonly rephraser?: Rephraser;
  /** Generates responses instead of the domain, for example with an NLG server. @default none */
  readonly writer?: ResponseWriter;
  /** Answers questions from documents (`action_trigger_search`). @default none */
  readonly knowledge?: Knowledge;
  /** Maximum length of a user message, in characters. @default 420 */
  readonly maxCharacters?: number;
  /** Maximum number of steps in one turn. A turn that exceeds it stops with an error. @default 1000 */
  readonly maxSteps?: number;
  /** Asks the user to choose if several flows would start while none is active. @default false */
  readonly clarifyOnMultipleStartFlows?: boolean;
  /** Added to every event: model id, assistant id. @default {} */
  readonly eventMetadata?: JsonObject;
  /** @default the system's */
  readonly clock?: Clock;
  /** Returns a number of at least 0 and less than 1; chooses among equal responses. @default Math.random */
  readonly random?: () => number;
  /** Creates ids of sessions, messages and streams. @default random UUIDs */
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
  /** The tracker that the previous turn returned; undefined for a new conversation. */
  readonly tracker: JsonObject | undefined;
  readonly text: string;
  /** @default a new id */
  readonly messageId?: string;
  /** @default {} */
  readonly metadata?: JsonObject;
  /** @default 'rest' */
  readonly channel?: string;
  /** Slots that an orchestrator sends along. @default {} */
  readonly slots?: Readonly<Record<string, JsonValue>>;
  readonly signal?: AbortSignal;
  /** Called with each bot message as it is sent; the turn awaits the callback. */
  readonly onMessage?: (message: BotMessage) => void | Promise<void>;
  /** Called with each chunk of a message that an action streams. */
  readonly onChunk?: (piece: StreamPiece) => void | Promise<void>;
  /** Called with each step, including steps of patterns. */
  readonly onStep?: (flowId: string, stepId: string) => void;
  /**
   * Loads earlier events lazily, for actions that read them, and for `rewind`, `undo` and `action_back`.
   * Without it, these three have no effect in a conversation that already has a tracker.
   */
  readonly history?: History;
  /** The journal of a turn that can run again after its process died. @default none: it never runs again */
  readonly journal?: Journal | undefined;
}
