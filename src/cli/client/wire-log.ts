import type { Redactor } from './redactor.ts';

type Fetch = typeof globalThis.fetch;

/** Bytes of one line of a body that are shown. */
const longestLine = 4_096;

/** A `fetch` that tells every message on the wire, line by line, with credentials blacked out. */
export function loggedFetch(fetch: Fetch, redactor: Redactor, log: (line: string) => void): Fetch {
  let count = 0;
  return async (input, init) => {
    const number = (count += 1);
    const tell = (mark: string, text: string): void =>
      log(`[${number}] ${mark} ${redactor.clean(text).slice(0, longestLine)}`);
    const began = performance.now();
    const passed = (): string => `${Math.round(performance.now() - began)} ms`;
    tell('>', `${init?.method ?? 'GET'} ${requestUrl(input)}`);
    for (const [name, value] of new Headers(init?.headers)) {
      tell('>', `${name}: ${redactor.header(name, value)}`);
    }
    if (typeof init?.body === 'string') tell('>', init.body);
    try {
      const response = await fetch(input, init);
      tell('<', `${response.status} ${response.statusText} after ${passed()}`);
      for (const [name, value] of response.headers) {
        tell('<', `${name}: ${redactor.header(name, value)}`);
      }
      return withLoggedBody(response, (line) => tell('<', line));
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      tell('!', `${String(cause)} after ${passed()}`);
      throw error;
    }
  };
}

/** Whole lines only: a credential that two pieces share must not slip through. */
function withLoggedBody(response: Response, tell: (line: string) => void): Response {
  if (response.body === null) return response;
  const decoder = new TextDecoder();
  let pending = '';
  const lines = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      pending += decoder.decode(piece, { stream: true });
      const complete = pending.split('\n');
      pending = complete.pop() ?? '';
      for (const line of complete) if (line.trim() !== '') tell(line);
      controller.enqueue(piece);
    },
    flush() {
      if (pending.trim() !== '') tell(pending);
    },
  });
  return new Response(response.body.pipeThrough(lines), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
}

function requestUrl(input: Parameters<Fetch>[0]): string {
  return input instanceof Request ? input.url : String(input);
}
