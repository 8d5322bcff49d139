import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { BotMessage } from '../conversation.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { Domain, ResponseVariation } from '../model.ts';
import type { PromptNoting } from '../prompt-note.ts';
import type { TranscriptEntry } from '../tracker/state.ts';
import { renderVariation, type ResponseScope, selectVariation } from './variation.ts';

/**
 * Rewords responses. After an error or an empty answer the response is sent as written.
 * @example const shouting: Rephraser = { rephrase: async ({ text }) => text.toUpperCase() };
 */
export interface Rephraser {
  /** Whether to rephrase all responses, except those with `rephrase: false`. @default false */
  readonly rephraseAll?: boolean;
  rephrase(request: RephraseRequest): Promise<string>;
}

/**
 * A response to reword, with the conversation before it.
 * @example
 * const prompt = ({ text, language = 'en' }: RephraseRequest) =>
 *   `Say it warmly, in ${language}: ${text}`;
 */
export interface RephraseRequest {
  /** The name of the response. */
  readonly response: string;
  /** The rendered text of the response. */
  readonly text: string;
  /** The prompt of the variation. */
  readonly prompt: string | undefined;
  readonly transcript: readonly TranscriptEntry[];
  readonly language: string | undefined;
  readonly signal: AbortSignal;
  /** Receives a note of each call of a model. @default none */
  readonly noting?: PromptNoting | undefined;
}

/**
 * Generates responses instead of the domain. After an error the response of the domain is sent.
 */
export interface ResponseWriter {
  write(request: WriteRequest): Promise<BotMessage>;
}

export interface WriteRequest {
  /** The name of the response. */
  readonly response: string;
  /** The id of the variation that the domain would choose, if it has one. */
  readonly id: string | undefined;
  /** Values from the action that sends the response. */
  readonly values: JsonObject;
  readonly channel: string;
  readonly tracker: () => Promise<JsonObject>;
  readonly signal: AbortSignal;
}

/** The response to errors. */
export const INTERNAL_ERROR_RESPONSE = 'utter_internal_error_rasa';
const LAST_RESORT: ResponseVariation = {
  text: 'Something went wrong on my side. Please try that again.',
};

export interface ResponderOptions {
  readonly domain: Domain;
  /** At least 0 and less than 1. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly rephraser?: Rephraser;
  readonly writer?: ResponseWriter;
}

export interface ResponseRequest {
  readonly name: string;
  readonly channel: string;
  readonly slots: Readonly<Record<string, JsonValue>>;
  readonly context: JsonObject;
  /** Values from the action that sends the response. @default {} */
  readonly values?: JsonObject;
  readonly transcript: readonly TranscriptEntry[];
  /** Computed lazily, for writers that need it. */
  readonly tracker: () => Promise<JsonObject>;
  readonly signal: AbortSignal;
  /** Receives a note of each call of a model. @default none */
  readonly noting?: PromptNoting;
}

/** Renders responses by their names. */
export class Responder {
  readonly #options: ResponderOptions;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  has(name: string): boolean {
    return this.#options.domain.responses.has(name);
  }

  /** Throws only aborts: an invalid response becomes the internal-error response. */
  async respond(request: ResponseRequest): Promise<BotMessage> {
    const scope = scopeOf(request);
    const variation = this.#select(request.name, request);
    const written = await this.#written(variation, request);
    if (written !== undefined) return written;
    if (variation === undefined) return this.#apology(request, 'no variation is eligible');
    let message: BotMessage;
    try {
      message = renderVariation(variation, scope);
    } catch (error) {
      return this.#apology(request, error);
    }
    const text = await this.#rephrased(message.text, variation, request);
    const { metadata } = metadataOf(request.name, variation);
    if (text === undefined || text === message.text) return { ...message, metadata };
    return { ...message, text, metadata: { ...metadata, utter_source: REPHRASER } };
  }

  #select(name: string, request: ResponseRequest): ResponseVariation | undefined {
    const { domain, random, logger } = this.#options;
    return selectVariation(domain.responses.get(name) ?? [], {
      channel: request.channel,
      random,
      holds: (condition) => {
        try {
          return compileCondition(condition).evaluate({ slots: request.slots, context: {} });
        } catch (error) {
          logger.warn({ response: name, condition, error }, 'response.condition.invalid');
          return false;
        }
      },
    });
  }

  #apology(request: ResponseRequest, reason: unknown): BotMessage {
    this.#options.logger.error({ response: request.name, reason }, 'response.not_available');
    const variation = this.#select(INTERNAL_ERROR_RESPONSE, request) ?? LAST_RESORT;
    try {
      return {
        ...renderVariation(variation, scopeOf(request)),
        ...metadataOf(INTERNAL_ERROR_RESPONSE, variation),
      };
    } catch {
      return { ...LAST_RESORT, ...metadataOf(INTERNAL_ERROR_RESPONSE, LAST_RESORT) };
    }
  }

  async #written(
    variation: ResponseVariation | undefined,
    request: ResponseRequest,
  ): Promise<BotMessage | undefined> {
    const { writer, logger } = this.#options;
    if (writer === undefined) return undefined;
    const { name, values = {}, channel, tracker, signal } = request;
    try {
      const id = variation?.id;
      const message = await writer.write({ response: name, id, values, channel, tracker, signal });
      return { ...message, ...metadataOf(name, message) };
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ response: name, error }, 'response.server.failed');
      return undefined;
    }
  }

  async #rephrased(
    text: string | undefined,
    variation: ResponseVariation,
    request: ResponseRequest,
  ): Promise<string | undefined> {
    const { rephraser, logger } = this.#options;
    if (rephraser === undefined || text === undefined) return text;
    const wish = variation.metadata?.['rephrase'];
    if (wish === false || (wish !== true && rephraser.rephraseAll !== true)) return text;
    const prompt = variation.metadata?.['rephrase_prompt'];
    try {
      const rephrased = await rephraser.rephrase({
        response: request.name,
        text,
        prompt: typeof prompt === 'string' ? prompt : undefined,
        transcript: request.transcript,
        language: languageOf(request.slots),
        signal: request.signal,
        noting: request.noting,
      });
      return rephrased.trim() === '' ? text : rephrased;
    } catch (error) {
      request.signal.throwIfAborted();
      logger.warn({ response: request.name, error }, 'response.rephrase.failed');
      return text;
    }
  }
}

/** `utter_source` of rephrased texts. */
const REPHRASER = 'ContextualResponseRephraser';

function scopeOf(request: ResponseRequest): ResponseScope {
  const { slots, context } = request;
  return { slots, context, values: request.values ?? {}, language: languageOf(slots) };
}

function languageOf(slots: ResponseRequest['slots']): string | undefined {
  const language = Object.hasOwn(slots, 'language') ? slots['language'] : undefined;
  return typeof language === 'string' ? language : undefined;
}

function metadataOf(
  name: string,
  { metadata }: { readonly metadata?: JsonObject },
): { metadata: JsonObject } {
  return { metadata: { ...metadata, utter_action: name } };
}
