import { type Auth } from '../../client/index.ts';
import {
  isEncryptedOrLocal,
  LegateError,
  parseJsonOr,
  type SseEvent,
  SseParser,
} from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import { usage } from '../usage.ts';

/** An answer as received, valid or not. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: unknown;
  /** The events of a stream, until it closed or timed out. */
  readonly events?: readonly SseEvent[];
  /** Whether the peer closed the stream. */
  readonly isComplete: boolean;
}

export interface ProbeRequest {
  readonly method?: 'GET' | 'POST' | 'OPTIONS';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends no credentials. @default false */
  readonly isAnonymous?: boolean;
  /** Stops reading a stream when this returns true. */
  readonly isEnough?: (events: readonly SseEvent[]) => boolean;
}

export interface ProbeOptions {
  readonly fetch: typeof globalThis.fetch;
  /** Timeout of each request, including its whole answer. */
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export const mostBytes = 4 * 1024 * 1024;

/** Sends requests as given and returns answers as received, valid or not. */
export class Probe {
  readonly #options: ProbeOptions;
  readonly #answers: Answer[] = [];
  #auth: Auth | undefined;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** All answers so far. */
  get answers(): readonly Answer[] {
    return this.#answers;
  }

  /** Adds these credentials to all further requests. */
  authenticate(auth: Auth | undefined): void {
    this.#auth = auth;
  }

  /** Aborts a request after the timeout, or when the check is aborted. */
  deadline(request: string): Deadline {
    const { timeoutMs: milliseconds, signal } = this.#options;
    const late = `no answer to ${request} within ${milliseconds} ms`;
    const reason = (): LegateError => new LegateError('PEER_UNREACHABLE', late);
    return new Deadline({ signal, milliseconds, reason });
  }

  async send(request: ProbeRequest): Promise<Answer> {
    const { method = 'GET', body, isEnough } = request;
    const { url, headers } = this.prepare(request);
    using deadline = this.deadline(`${method} ${request.url}`);
    const response = await this.#options
      .fetch(url, {
        method,
        headers,
        redirect: 'manual',
        ...(body !== undefined && { body }),
        signal: deadline.signal,
      })
      .catch((error: unknown) => {
        deadline.signal.throwIfAborted();
        throw new LegateError(
          'PEER_UNREACHABLE',
          `no answer to ${method} ${request.url}: ${reasonOf(error)}`,
        );
      });
    const answer = await readAnswer(response, isEnough);
    this.#answers.push(answer);
    return answer;
  }

  /** Adds the credentials, unless the request is anonymous; refuses to send them unencrypted. */
  prepare(request: ProbeRequest): { readonly url: string; readonly headers: Headers } {
    const url = new URL(request.url);
    const headers = new Headers({ ...this.#options.headers, ...request.headers });
    if (request.isAnonymous === true || this.#auth === undefined) return { url: url.href, headers };
    if (!isEncryptedOrLocal(url)) {
      throw usage(`credentials are not sent to ${url.origin}: use https, or a loopback address`);
    }
    if ('bearer' in this.#auth) {
      headers.set('Authorization', `Bearer ${this.#auth.bearer}`);
    } else if ('apiKey' in this.#auth) {
      const { name, location = 'header', value } = this.#auth.apiKey;
      if (location === 'query') url.searchParams.set(name, value);
      else if (location === 'header') headers.set(name, value);
      else headers.set('Cookie', `${name}=${encodeURIComponent(value)}`);
    }
    return { url: url.href, headers };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

async function readAnswer(response: Response, isEnough: ProbeRequest['isEnough']): Promise<Answer> {
  const { status, headers } = response;
  const isStream = /^text\/event-stream\b/i.test(headers.get('Content-Type') ?? '');
  const parser = new SseParser({ maxEventBytes: mostBytes });
  const events: SseEvent[] = [];
  const pieces: Buffer[] = [];
  let size = 0;
  let isComplete = true;
  try {
    for await (const piece of response.body ?? []) {
      size += piece.length;
      pieces.push(Buffer.from(piece));
      if (isStream) events.push(...parser.push(piece));
      if (size > mostBytes || (isStream && isEnough?.(events) === true)) {
        isComplete = false;
        break;
      }
    }
  } catch {
    // Cut off, or timed out: returns the events so far; the caller reports that the stream did not end.
    isComplete = false;
  }
  const text = Buffer.concat(pieces).toString('utf8');
  const json = isStream ? undefined : parseJsonOr(text, undefined);
  return { status, headers, text, json, isComplete, ...(isStream && { events }) };
}
