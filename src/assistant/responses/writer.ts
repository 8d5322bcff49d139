import type { JsonObject } from '../../protocol/index.ts';
import type { BotMessage } from '../bot-message.ts';

/**
 * Words responses instead of the domain. What it throws leaves the domain's own words: a
 * conversation never ends for want of style.
 */
export interface ResponseWriter {
  write(request: WriteRequest): Promise<BotMessage>;
}

export interface WriteRequest {
  /** The name of the response. */
  readonly response: string;
  /** The variation that the domain would choose, if it has an id. */
  readonly id: string | undefined;
  /** Of the action that asked for it. */
  readonly values: JsonObject;
  readonly channel: string;
  readonly tracker: () => Promise<JsonObject>;
  readonly signal: AbortSignal;
}
