import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Logger } from '../../../telemetry/index.ts';

/** The words that the model answers in: v3 has one command for everything that is no request. */
export type CommandLanguage = 'v2' | 'v3';

export interface LlmGeneratorOptions {
  readonly model: LanguageModelV4;
  /** @default 'v2' */
  readonly commands?: CommandLanguage;
  /** A template in the Jinja style instead of our own prompt; its variables are `PromptFacts`. */
  readonly promptTemplate?: string;
  readonly flowRetrieval?: {
    /** Show the model only the flows that fit, when there are more than `numFlows`. @default true */
    readonly isActive?: boolean;
    /** @default 20 */
    readonly numFlows?: number;
    /** User messages that flows are looked for with. @default 1 */
    readonly turnsToEmbed?: number;
    /** Whether names and descriptions of slots count. @default true */
    readonly shouldEmbedSlots?: boolean;
  };
  /** Of the message; the rest is cut. @default 420 */
  readonly maxCharacters?: number;
  /** Tell the model the date and time. @default true */
  readonly includeDateTime?: boolean;
  /** IANA name. @default 'UTC' */
  readonly timezone?: string;
  /** Milliseconds for the model, retries included. @default 7_000 */
  readonly timeoutMs?: number;
  /** @default 1 */
  readonly retries?: number;
  /** Ask for JSON by a schema: always, never, or where the model offers it. @default 'auto' */
  readonly structuredOutput?: boolean | 'auto';
  /** Entries of the conversation that the model sees. @default 20 */
  readonly maxTranscript?: number;
  readonly logger?: Logger;
}
