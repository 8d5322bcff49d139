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

export interface ReceiverOptions {
  /** Calls kept; older ones make room. @default 200 */
  readonly limit?: number;
  readonly now: () => number;
  /** Our own keys: what is signed with them is ours. */
  readonly keys: () => PublicKeySet | undefined;
  /** Told of each call. */
  readonly onCall: () => void;
}

/** Characters of one body that are kept. */
const maxKept = 256 * 1024;
const secretHeaders = new Set(['authorization', 'x-a2a-notification-token', 'cookie']);

/**
 * Takes webhook calls and keeps the latest, so that what is pushed can be looked at. A client that knows the
 * key may call: senders of webhooks have no other credentials here.
 */
export class WebhookReceiver {
  readonly key = randomBytes(16).toString('base64url');
  readonly #options: ReceiverOptions;
  readonly #calls: ReceivedCall[] = [];
  #count = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** Oldest first. */
  get calls(): readonly ReceivedCall[] {
    return this.#calls;
  }

  clear(): void {
    this.#calls.length = 0;
  }

  async take(request: IncomingMessage, limits: RequestLimits): Promise<void> {
    const { now, limit = 200, onCall } = this.#options;
    const body = await readBody(request, limits);
    const signature = await this.#judge(request, body);
    this.#count += 1;
    this.#calls.push({
      number: this.#count,
      time: now(),
      headers: shownHeaders(request),
      body: body.slice(0, maxKept),
      isCut: body.length > maxKept,
      signature,
    });
    if (this.#calls.length > limit) this.#calls.splice(0, this.#calls.length - limit);
    onCall();
  }

  async #judge(request: IncomingMessage, body: string): Promise<ReceivedCall['signature']> {
    const given = request.headers['x-a2a-signature'];
    if (typeof given !== 'string') return 'none';
    const keys = this.#options.keys();
    if (keys === undefined) return 'unknown';
    const audience = audienceOf(given);
    // The address that was registered is the sender's to say; that it is ours, the key in it tells.
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

/** Calls that are remembered: the latest. */
const most = 300;

/**
 * The latest calls to webhooks, also those that succeeded, of which the store keeps nothing: of this
 * process, since the inspector opened.
 */
export class AttemptLog {
  readonly #attempts: AttemptView[] = [];
  #count = 0;

  add({ delivery, outcome, at }: PushAttempt): void {
    const { taskId, sequence, attempts, push } = delivery;
    this.#count += 1;
    this.#attempts.push({
      number: this.#count,
      time: at,
      taskId,
      sequence,
      attempt: attempts + 1,
      url: redactPushConfig(push.config).url,
      outcome: outcome.kind,
      ...(outcome.kind !== 'delivered' && { error: outcome.error }),
    });
    if (this.#attempts.length > most) this.#attempts.shift();
  }

  /** The latest first. */
  list(taskId?: string): readonly AttemptView[] {
    const latest = this.#attempts.toReversed();
    return taskId === undefined ? latest : latest.filter((one) => one.taskId === taskId);
  }
}
