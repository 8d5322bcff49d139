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

/**
 * A message that is sent again carries the same key, so that a peer which knows either the message
 * id or the key does the work once.
 */
export function idempotencyHeaders(request: SendMessageRequest): Record<string, string> {
  const { messageId } = request.message;
  // What a header cannot carry stays in the message alone.
  return /^[\x21-\x7e]+$/.test(messageId) ? { 'Idempotency-Key': messageId } : {};
}
