import {
  GuardedClient,
  type GuardedClientOptions,
  type OutboundRequest,
} from './guarded-client.ts';
import type { Readable } from 'node:stream';

/**
 * Carries webhook calls. What it rejects with is tried again, save for a `UrlRefused`.
 * @example
 * const answer = { status: 200, retryAfter: undefined };
 * const transport: DeliveryTransport = { send: async () => answer, close() {} };
 */
export interface DeliveryTransport {
  send(url: string, request: OutboundRequest): Promise<DeliveryAnswer>;
  close(): void;
}

/**
 * What a receiver answered.
 * @example
 * const busy: DeliveryAnswer = { status: 503, retryAfter: '120' }; // in seconds, or a date
 */
export interface DeliveryAnswer {
  readonly status: number;
  /** Its `Retry-After`. */
  readonly retryAfter: string | undefined;
}

const maxBodyBytes = 65_536;

/** Calls over HTTP that go only where the policy lets them. */
export function guardedTransport(options: GuardedClientOptions): DeliveryTransport {
  const client = new GuardedClient(options);
  return {
    async send(url, request) {
      const answer = await client.send(url, request);
      await discardBody(answer, maxBodyBytes);
      return { status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] };
    },
    close: () => client.close(),
  };
}

/**
 * Reads a body to its end and keeps nothing, so that the connection can be used again; a body beyond
 * the bound ends the connection instead. Never rejects: the status was the answer.
 */
export async function discardBody(body: Readable, maxBytes: number): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } catch {
    // The body broke off; the receiver has answered already.
    body.destroy();
  }
}
