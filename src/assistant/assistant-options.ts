import type { Clock } from '../agents/index.ts';
import type { JsonObject, JsonValue } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { ActionRunner, StreamPiece } from './actions/runner.ts';
import type { BotMessage } from './bot-message.ts';
import type { CommandGenerator } from './commands/generator.ts';
import type { CallHandler } from './executor/call-handler.ts';
import type { History } from './executor/dialogue.ts';
import type { Domain, Flow } from './model.ts';
import type { Rephraser, ResponseWriter } from './responses/responder.ts';

/**
 * What an assistant is made of.
 * @example
 * const options: AssistantOptions = {
 *   domain, flows, generator: matchingGenerator({ timeZone: 'Europe/Rome' }),
 *   maxSteps: 200,
 *   random: () => 0, // the first of equal responses, so that a test hears the same each time
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
  /** @default none: responses are said as they are written. */
  readonly rephraser?: Rephraser;
  /** Words responses before the domain does. @default none */
  readonly writer?: ResponseWriter;
  /** Of one message. @default 420 */
  readonly maxCharacters?: number;
  /** Steps that one message may cause before the turn is broken off. @default 1000 */
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
  /** Called with each message as it is said; the turn waits for it. */
  readonly onMessage?: (message: BotMessage) => void | Promise<void>;
  /** Called with each piece of a message that an action streams. */
  readonly onChunk?: (piece: StreamPiece) => void | Promise<void>;
  /** Called with each step that is taken, patterns included. */
  readonly onStep?: (flowId: string, stepId: string) => void;
  /**
   * Former events, for actions that want to see them and for what takes messages back; asked for only
   * then. Without it, `rewind`, `undo` and `action_back` change nothing in a conversation under way.
   */
  readonly history?: History;
}
