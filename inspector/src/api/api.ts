import { signal } from '@preact/signals';
import type { ErrorView } from '../../../src/http/inspector/model.ts';
import { type SseEvent, SseParser } from '../../../src/protocol/index.ts';

/** The base URL of the page: `.../inspect/`. */
export const baseUrl = new URL('.', document.baseURI);

/** The operator's credential. Kept only while the page is open. */
export type Credential =
  | { readonly kind: 'bearer'; readonly value: string }
  | { readonly kind: 'header'; readonly name: string; readonly value: string }
  | { readonly kind: 'token'; readonly value: string };

export const credential = signal<Credential | undefined>(undefined);
/** Why the server refuses access; empty while it grants access. */
export const refusal = signal('');

/** The same request with the operator's credential. */
export function withCredential(url: URL, headers: Headers): URL {
  const given = credential.peek();
  if (given === undefined) return url;
  if (given.kind === 'token') {
    const keyed = new URL(url);
    keyed.searchParams.set('token', given.value);
    return keyed;
  }
  if (given.kind === 'bearer') headers.set('authorization', `Bearer ${given.value}`);
  else headers.set(given.name, given.value);
  return url;
}

/** The message of an error. */
export function reasonOf(error: unknown, otherwise = 'something went wrong'): string {
  return error instanceof Error ? error.message : otherwise;
}

/** Calls the inspector's API; rejects with the server's message. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (init.body !== undefined && !headers.has('content-type')) {
    headers.set('content-type', 'application/json');
  }
  const url = withCredential(new URL(`api/${path}`, baseUrl), headers);
  const response = await fetch(url, { ...init, headers });
  if (response.ok) {
    refusal.value = '';
    return response;
  }
  const message = await failureIn(response);
  if (response.status === 401 || response.status === 403) refusal.value = message;
  throw new Error(message);
}

async function failureIn(response: Response): Promise<string> {
  const text = await response.text();
  try {
    return jsonOf<ErrorView>(text).error.message;
  } catch {
    return `the server answered ${response.status}`;
  }
}

/** JSON of the inspector's own server, which is built from the same types as the page. */
export function jsonOf<T>(text: string): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server that serves the page encodes this type
  return JSON.parse(text) as T;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return jsonOf<T>(await (await request(path, { signal: signal ?? null })).text());
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const response = await request(path, { method: 'POST', body: JSON.stringify(body) });
  return jsonOf<T>(await response.text());
}

/** A path with encoded parameters: `path`tasks/${id}`` . */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

type Body = ReadableStream<Uint8Array> | null;

/**
 * The chunks of a response body; not every browser can iterate over streams. Cancels the body when the
 * reader leaves early.
 */
export async function* chunksOf(body: Body): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return;
      yield chunk.value;
    }
  } finally {
    // A stream that failed rejects again.
    await reader?.cancel().catch(() => undefined);
  }
}

/** The server-sent events of a response. */
export async function* eventsOf(body: Body): AsyncGenerator<SseEvent> {
  const parser = new SseParser();
  for await (const chunk of chunksOf(body)) yield* parser.push(chunk);
}
