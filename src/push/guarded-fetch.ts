import type { Readable } from 'node:stream';
import { LegateError } from '../protocol/index.ts';
import { Deadline } from '../time/index.ts';
import { GuardedClient, type GuardedClientOptions, outboundTimeouts } from './guarded-client.ts';
import { checkUrl, type UrlPolicy } from './policy.ts';

/**
 * How patient a guarded `fetch` is.
 * @example
 * const options: GuardedFetchOptions = { headTimeout: 5_000, maxResponseBytes: 1_048_576 };
 */
export interface GuardedFetchOptions extends Omit<GuardedClientOptions, 'policy'> {
  /** Milliseconds until the head of the answer. @default 30_000 */
  readonly headTimeout?: number;
  /** Milliseconds without a byte of the body. @default 120_000 */
  readonly idleTimeout?: number;
  /**
   * The most bytes of a body. Event streams have no end and are bounded event by event by the code that
   * reads them. @default 33_554_432
   */
  readonly maxResponseBytes?: number;
}

/**
 * A `fetch` that goes only where a policy allows.
 * @example
 * const fetch: GuardedFetch = guardedFetch(httpsOrLoopbackPolicy);
 * process.once('SIGTERM', () => fetch.close());
 */
export type GuardedFetch = typeof fetch & {
  /** Closes idle connections. */
  close(): void;
};

/**
 * `fetch` that goes only where the policy lets it. A redirect is returned, never followed; bodies
 * are asked for and accepted uncompressed only, so that a small answer cannot become a large one.
 * @example const fetch = guardedFetch(sealedPolicy); await fetch('https://example.com/card.json')
 */
export function guardedFetch(policy: UrlPolicy, options: GuardedFetchOptions = {}): GuardedFetch {
  const {
    headTimeout = outboundTimeouts.overall,
    idleTimeout = 120_000,
    maxResponseBytes = 32 * 1_024 * 1_024,
    ...clientOptions
  } = options;
  const client = new GuardedClient({ policy, ...clientOptions });

  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const address = input instanceof Request ? input.url : String(input);
    checkUrl(address, policy, { code: 'PEER_UNREACHABLE' });
    // `Request` knows every kind of body and header that fetch takes.
    const request = new Request(input, { ...init, signal: null });
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const deadline = new Deadline({
      signal: init.signal ?? (input instanceof Request ? input.signal : undefined),
      milliseconds: headTimeout,
      reason: () => slow(address, headTimeout),
    });
    try {
      const answer = await client.send(address, {
        method: request.method,
        headers: { 'accept-encoding': 'identity', ...Object.fromEntries(request.headers) },
        ...(body === undefined ? {} : { body }),
        signal: deadline.signal,
      });
      deadline.lift();
      answer.once('close', () => deadline.close());
      const headers = new Headers();
      for (let index = 0; index + 1 < answer.rawHeaders.length; index += 2) {
        headers.append(answer.rawHeaders[index] ?? '', answer.rawHeaders[index + 1] ?? '');
      }
      return respond(address, answer, {
        status: answer.statusCode ?? 0,
        headers,
        isHead: request.method === 'HEAD',
        redirect: init.redirect,
        maxBytes: isEventStream(headers) ? Infinity : maxResponseBytes,
        idleTimeout,
      });
    } catch (error) {
      deadline.close();
      throw error;
    }
  };
  return Object.assign(fetch, { close: () => client.close() });
}

interface Head {
  readonly status: number;
  readonly headers: Headers;
  readonly isHead: boolean;
  readonly redirect: RequestRedirect | undefined;
  readonly maxBytes: number;
  readonly idleTimeout: number;
}

function respond(address: string, answer: Readable, head: Head): Response {
  const refuse = (error: LegateError): never => {
    answer.destroy();
    throw error;
  };
  const { status, headers } = head;
  if (status >= 300 && status < 400 && status !== 304 && head.redirect === 'error') {
    refuse(failed(address, `answered ${status}; redirects are not followed`));
  }
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    refuse(failed(address, `answered in encoding ${encoding} though only identity was asked for`));
  }
  if (Number(headers.get('content-length') ?? 0) > head.maxBytes) {
    refuse(tooLarge(address, head.maxBytes));
  }
  const isBodyless = head.isHead || status === 204 || status === 205 || status === 304;
  if (isBodyless) answer.resume();
  const stream = isBodyless ? null : bounded(address, answer, head);
  return new Response(stream, { status, headers });
}

/** Pulls as the reader reads; the reader's own pauses do not count as the peer's silence. */
function bounded(
  address: string,
  answer: Readable,
  { maxBytes, idleTimeout }: Head,
): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const timer = setTimeout(() => answer.destroy(slow(address, idleTimeout)), idleTimeout);
      const next = await chunks.next().finally(() => clearTimeout(timer));
      if (next.done === true) return controller.close();
      size += next.value.length;
      if (size > maxBytes) {
        answer.destroy();
        throw tooLarge(address, maxBytes);
      }
      controller.enqueue(next.value);
    },
    cancel() {
      answer.destroy();
    },
  });
}

function isEventStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function slow(address: string, milliseconds: number): LegateError {
  return failed(address, `sent nothing for ${milliseconds} ms`);
}

function tooLarge(address: string, maxBytes: number): LegateError {
  return failed(address, `answered with more than ${maxBytes} bytes`);
}

/** Names the origin only: the path of an address may be its secret. */
function failed(address: string, what: string): LegateError {
  return new LegateError('PEER_UNREACHABLE', `${new URL(address).origin} ${what}`);
}
