import type { ErrorView } from '../../../src/http/inspector/model.ts';
import { type SseEvent, SseParser } from '../../../src/protocol/index.ts';
import { refusal, withCredential } from './credential.ts';
import { place } from './place.ts';

/** An error of the server's own API, with its message. */
export class ApiFailure extends Error {
  readonly code: string;
  readonly status: number;

  constructor(status: number, { code, message }: ErrorView['error']) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** The message of an error. */
export function reasonOf(error: unknown, otherwise = 'it was refused'): string {
  return error instanceof Error ? error.message : otherwise;
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Calls the inspector's API; rejects with `ApiFailure`. */
export async function request(path: string, options: Options = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const { body, method = 'GET', signal } = options;
  if (body !== undefined && !headers.has('content-type')) {
    headers.set('content-type', 'application/json');
  }
  const url = withCredential(new URL(`api/${path}`, place), headers);
  const response = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.ok) {
    refusal.value = '';
    return response;
  }
  const failure = await failureOf(response);
  if (response.status === 401 || response.status === 403) refusal.value = failure.message;
  throw failure;
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text();
  try {
    return new ApiFailure(response.status, (JSON.parse(text) as ErrorView).error);
  } catch {
    const message = `the server answered ${response.status}`;
    return new ApiFailure(response.status, { code: 'INTERNAL', message });
  }
}

type Body = ReadableStream<Uint8Array> | null;

/** The chunks of a response body; not every browser iterates over streams itself. */
export async function* chunksOf(body: Body): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) return;
    yield chunk.value;
  }
}

/** The server-sent events of a response. */
export async function* eventsOf(body: Body): AsyncGenerator<SseEvent> {
  const parser = new SseParser();
  for await (const chunk of chunksOf(body)) yield* parser.push(chunk);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal === undefined ? {} : { signal });
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return (await (await request(path, { method: 'POST', body })).json()) as T;
}

export async function remove(path: string): Promise<void> {
  await request(path, { method: 'DELETE' });
}

/** A path with encoded parameters: `path`tasks/${id}`` . */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((whole, text, index) => {
    const value = values[index - 1];
    return whole + (value === undefined ? '' : encodeURIComponent(value)) + text;
  });
}
