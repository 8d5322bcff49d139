import type { JsonValue, Part } from '../../protocol/index.ts';

/**
 * What is asked while a tool pauses, and what it keeps meanwhile.
 * @example const pause: ToolPauseOptions = { question: [text('Small or large?')], state: { dish: 'pizza' } };
 */
export interface ToolPauseOptions {
  /** What the caller is asked, in words or parts. */
  readonly question: readonly Part[];
  /** Whether the caller is asked for consent elsewhere rather than for an answer. @default false */
  readonly needsAuthorization?: boolean;
  /** Kept with the conversation, and given back with the answer. */
  readonly state?: JsonValue;
}

/**
 * Returned by a tool that cannot go on without its caller. The turn ends with the question; the
 * message that continues the task comes to the tool's `resume`, days later or after a restart.
 * @example return new ToolPause({ question: [{ text: 'Which colour?' }] });
 */
export class ToolPause {
  readonly question: readonly Part[];
  readonly needsAuthorization: boolean;
  readonly state: JsonValue | undefined;

  constructor(options: ToolPauseOptions) {
    this.question = options.question;
    this.needsAuthorization = options.needsAuthorization ?? false;
    this.state = options.state;
  }
}
