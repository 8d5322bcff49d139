import { type Message, message, type SendMessageRequest } from '../protocol/index.ts';

/**
 * What can be sent: a text, a message, or a whole request.
 * @example
 * const question: Sendable = {
 *   message: message('Paint a sunset'),
 *   configuration: { acceptedOutputModes: ['image/png'], returnImmediately: true },
 * };
 */
export type Sendable = string | Message | SendMessageRequest;

export function toRequest(input: Sendable): SendMessageRequest {
  if (typeof input === 'string') return { message: message(input) };
  return 'message' in input ? input : { message: input };
}

/** Longest key that servers take, in characters. */
const maxKeyLength = 256;

/**
 * The `Idempotency-Key` of a message: the same for every attempt to send it. Servers can't tell the
 * first messages of anonymous callers apart by their ids alone, and deduplicate them by this key.
 */
export function idempotencyHeaders(request: SendMessageRequest): Record<string, string> {
  const { messageId } = request.message;
  const isHeaderValue = /^[\x21-\x7e]+$/.test(messageId);
  const key = isHeaderValue ? messageId : encodeURIComponent(messageId.toWellFormed());
  // Servers read the message id as well, so a key that was cut is no worse.
  return { 'Idempotency-Key': key.slice(0, maxKeyLength) };
}
