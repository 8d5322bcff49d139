import { chunksOf, eventsOf, reasonOf } from '../api/api.ts';
import { Breather } from '../api/breather.ts';
import type { Exchange, WireLog } from './exchange.ts';

const secretHeader =
  /^(?:authorization|proxy-authorization|cookie)$|api-?key|token|secret|password/i;
const maxBody = 1_000_000;

/** A `fetch` that records requests and responses, with `secrets` redacted. */
export function recordingFetch(
  inner: typeof fetch,
  log: WireLog,
  secrets: () => readonly string[],
): typeof fetch {
  return async (input, init = {}) => {
    const clean = (text: string): string =>
      secrets().reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
    const headers = [...new Headers(init.headers)].map(
      ([name, value]) => [name, secretHeader.test(name) ? '[redacted]' : clean(value)] as const,
    );
    const exchange = log.begin({
      method: init.method ?? 'GET',
      url: clean(input instanceof Request ? input.url : String(input)),
      requestHeaders: headers,
      requestBody: typeof init.body === 'string' ? clean(init.body.slice(0, maxBody)) : '',
    });
    try {
      const response = await inner(input, init);
      return record(response, exchange, log, clean);
    } catch (error) {
      exchange.problem = clean(reasonOf(error, 'there was no answer'));
      exchange.endedAt = Date.now();
      log.changed();
      throw error;
    }
  };
}

function record(
  response: Response,
  exchange: Exchange,
  log: WireLog,
  clean: (text: string) => string,
): Response {
  exchange.status = response.status;
  exchange.responseHeaders = [...response.headers];
  exchange.isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
  log.changed();
  if (response.body === null) {
    exchange.endedAt = Date.now();
    return response;
  }
  const [own, kept] = response.body.tee();
  void keep(kept, exchange, log, clean);
  const { status, statusText, headers } = response;
  return new Response(own, { status, statusText, headers });
}

/** Reads a copy of the body; drops the text once it is parsed. */
async function keep(
  body: ReadableStream<Uint8Array>,
  exchange: Exchange,
  log: WireLog,
  clean: (text: string) => string,
): Promise<void> {
  const breather = new Breather();
  const decoder = new TextDecoder();
  let text = '';
  try {
    if (exchange.isStream) {
      for await (const { id, event, data } of eventsOf(body)) {
        if (data !== '') log.add(exchange, { text: clean(data), id, event });
        await breather.breathe();
      }
    } else {
      for await (const chunk of chunksOf(body)) {
        text = (text + decoder.decode(chunk, { stream: true })).slice(0, maxBody);
      }
    }
  } catch {
    // The other branch of the body reports the error to the caller.
    exchange.problem = 'the connection was closed before the end';
  }
  if (text !== '') log.add(exchange, { text: clean(text) });
  exchange.endedAt = Date.now();
  log.changed();
}
