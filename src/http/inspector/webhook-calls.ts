import type { IncomingMessage } from 'node:http';
import { randomBytes } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import {
  type PublicKeySet,
  type PushAttempt,
  redactPushConfig,
  verifyBodySignature,
} from '../../push/index.ts';
import type { RequestLimits } from '../../service/index.ts';
import { readBody } from '../request.ts';
import type { AttemptView, ReceivedCall } from './model.ts';

/** The latest entries, numbered from 1. */
export class RecentList<T extends { readonly number: number }> {
  readonly #limit: number;
  readonly #entries: T[] = [];
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Oldest first. */
  get entries(): readonly T[] {
    return this.#entries;
  }

  add(make: (number: number) => T): void {
    this.#count += 1;
    this.#entries.push(make(this.#count));
    if (this.#entries.length > this.#limit) this.#entries.shift();
  }

  clear(): void {
    this.#entries.length = 0;
  }
}

interface ReceiverOptions {
  /** Number of calls kept. */
  readonly limit: number;
  readonly now: () => number;
  /** The public keys of this server. */
  readonly keys: () => Promise<PublicKeySet | undefined>;
  readonly onCall: () => void;
}

/** Maximum stored length of a body, in characters. */
const maxKept = 256 * 1024;
const secretHeaders = new Set(['authorization', 'x-a2a-notification-token', 'cookie']);

/**
 * Receives webhook calls and keeps the latest for inspection. The key in the URL is the only credential,
 * because senders of webhooks have no other.
 */
export class WebhookReceiver {
  readonly key = randomBytes(16).toString('base64url');
  readonly calls: RecentList<ReceivedCall>;
  readonly #options: ReceiverOptions;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.calls = new RecentList(options.limit);
  }

  async receive(request: IncomingMessage, limits: RequestLimits): Promise<void> {
    const { now, onCall } = this.#options;
    const body = await readBody(request, limits);
    const signature = await this.#verify(request, body);
    this.calls.add((number) => ({
      number,
      time: now(),
      headers: shownHeaders(request),
      body: body.slice(0, maxKept),
      isCut: body.length > maxKept,
      signature,
    }));
    onCall();
  }

  async #verify(request: IncomingMessage, body: string): Promise<ReceivedCall['signature']> {
    const given = request.headers['x-a2a-signature'];
    if (typeof given !== 'string') return 'none';
    const keys = await this.#options.keys();
    if (keys === undefined) return 'unknown';
    const audience = audienceOf(given);
    // The audience is the registered URL. Its key shows that the URL belongs to this receiver.
    if (audience?.includes(this.key) !== true) return 'invalid';
    try {
      await verifyBodySignature(given, body, { keys, audience, now: this.#options.now() });
      return 'valid';
    } catch {
      return 'invalid';
    }
  }
}

function audienceOf(signature: string): string | undefined {
  try {
    const { aud } = decodeProtectedHeader(signature);
    return typeof aud === 'string' ? aud : undefined;
  } catch {
    return undefined;
  }
}

function shownHeaders({ headers }: IncomingMessage): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name === '__proto__') continue;
    shown[name] = secretHeaders.has(name) ? '[redacted]' : String(value);
  }
  return shown;
}

export function attemptView({
  delivery,
  outcome,
  at,
}: PushAttempt): (number: number) => AttemptView {
  const { taskId, sequence, attempts, push } = delivery;
  return (number) => ({
    number,
    time: at,
    taskId,
    sequence,
    attempt: attempts + 1,
    url: redactPushConfig(push.config).url,
    outcome: outcome.kind,
    ...(outcome.kind !== 'delivered' && { error: outcome.error }),
  });
}
