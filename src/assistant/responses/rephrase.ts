import type { PromptNoting } from '../prompt-note.ts';
import type { TranscriptEntry } from '../tracker/index.ts';

/**
 * Says a response in other words. What it throws, and an empty answer, leave the response as it
 * was written: a conversation never waits on style.
 * @example const shouting: Rephraser = { rephrase: async ({ text }) => text.toUpperCase() };
 */
export interface Rephraser {
  /** Whether responses are rephrased that do not ask for it. @default false */
  readonly rephraseAll?: boolean;
  rephrase(request: RephraseRequest): Promise<string>;
}

/**
 * What is to be said in other words, and what came before.
 * @example
 * const prompt = ({ text, language = 'en' }: RephraseRequest) =>
 *   `Say it warmly, in ${language}: ${text}`;
 */
export interface RephraseRequest {
  /** The name of the response. */
  readonly response: string;
  /** The response as written, filled in. */
  readonly text: string;
  /** A prompt of the variation's own. */
  readonly prompt: string | undefined;
  readonly transcript: readonly TranscriptEntry[];
  readonly language: string | undefined;
  readonly signal: AbortSignal;
  /** Who wants to be told what models are asked. @default nobody */
  readonly noting?: PromptNoting | undefined;
}
