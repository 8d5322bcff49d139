import { SseParser } from '../../../src/protocol/index.ts';
import { chunksOf, reasonOf } from '../api/api.ts';
import { Changes, TimeSlice } from '../api/changes.ts';
import {
  checkRequest,
  checkResponse,
  type ExchangeKind,
  exchangeKind,
  SequenceCheck,
  type SentRequest,
} from './checks.ts';
import { eventSummary, type ListedEvent } from './event-list.tsx';

/** One event of a stream, or a whole response, as received; checked on arrival. */
export interface WireFrame extends ListedEvent {
  readonly text: string;
}

/** One HTTP request with its response. Secrets are redacted before anything is stored. */
export interface Exchange extends SentRequest {
  readonly number: number;
  readonly kind: ExchangeKind;
  readonly requestProblems: readonly string[];
  readonly startedAt: number;
  endedAt: number | undefined;
  status: number | undefined;
  responseHeaders: readonly (readonly [string, string])[];
  isStream: boolean;
  readonly frames: WireFrame[];
  /** The body of the response as it arrived, including framing; empty over gRPC. */
  raw: string;
  /** The length of the whole body, in characters. */
  rawLength: number;
  /** Number of frames dropped to limit memory. */
  dropped: number;
  /** Number of invalid messages, including the request. */
  faults: number;
  problem: string;
  readonly sequence: SequenceCheck;
}

const maxExchanges = 200;
const maxFrames = 20_000;
/** Characters of one raw body that are kept. */
const maxRaw = 200_000;

/** The exchanges of one conversation. */
export class WireLog extends Changes {
  readonly exchanges: Exchange[] = [];
  #count = 0;

  /** `kind`: pass it if the request itself doesn't determine it. */
  start(request: SentRequest, kind: ExchangeKind = exchangeKind(request)): Exchange {
    this.#count += 1;
    const requestProblems = checkRequest(request, kind);
    const exchange: Exchange = {
      ...request,
      number: this.#count,
      kind,
      requestProblems,
      startedAt: Date.now(),
      endedAt: undefined,
      status: undefined,
      responseHeaders: [],
      isStream: false,
      frames: [],
      raw: '',
      rawLength: 0,
      dropped: 0,
      faults: requestProblems.length > 0 ? 1 : 0,
      problem: '',
      sequence: new SequenceCheck(),
    };
    this.exchanges.push(exchange);
    if (this.exchanges.length > maxExchanges) this.exchanges.shift();
    this.changed();
    return exchange;
  }

  /** Headers without credentials. */
  cleanHeaders(headers: Headers): SentRequest['requestHeaders'] {
    return [...headers].map(
      ([name, value]) => [name, secretHeader.test(name) ? '[redacted]' : value] as const,
    );
  }

  /** Adds to the raw body; only the start of a long one is kept. */
  addRaw(exchange: Exchange, text: string): void {
    exchange.rawLength += text.length;
    if (exchange.raw.length < maxRaw) {
      exchange.raw = (exchange.raw + text).slice(0, maxRaw);
    }
  }

  add(exchange: Exchange, text: string): void {
    const { frames, isStream, sequence } = exchange;
    const { problems, event } = checkResponse(text, exchange.kind);
    const ordered = event === undefined || !isStream ? [] : sequence.add(event);
    frames.push({
      number: exchange.dropped + frames.length + 1,
      text,
      problems: [...problems, ...ordered],
      summary: event === undefined ? undefined : eventSummary(event),
    });
    if (problems.length + ordered.length > 0) exchange.faults += 1;
    if (frames.length > maxFrames) {
      // In batches: removing single frames from the front would take quadratic time.
      frames.splice(0, 1_000);
      exchange.dropped += 1_000;
    }
    this.changed();
  }

  end(exchange: Exchange, problem = ''): void {
    exchange.endedAt = Date.now();
    exchange.problem = problem;
    this.changed();
  }

  clear(): void {
    this.exchanges.length = 0;
    this.changed();
  }
}

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
    const exchange = log.start({
      method: init.method ?? 'GET',
      url: clean(input instanceof Request ? input.url : String(input)),
      requestHeaders: headers,
      requestBody: typeof init.body === 'string' ? clean(init.body.slice(0, maxBody)) : '',
    });
    try {
      const response = await inner(input, init);
      const { status, statusText, headers: received, body } = response;
      exchange.status = status;
      exchange.responseHeaders = [...received];
      exchange.isStream = /^text\/event-stream\b/i.test(received.get('content-type') ?? '');
      if (body === null) {
        log.end(exchange);
        return response;
      }
      const [own, copy] = body.tee();
      void record(copy, exchange, log, clean);
      return new Response(own, { status, statusText, headers: received });
    } catch (error) {
      log.end(exchange, clean(reasonOf(error, 'no response')));
      throw error;
    }
  };
}

/** Reads a copy of the body; discards the text after parsing. */
async function record(
  body: ReadableStream<Uint8Array>,
  exchange: Exchange,
  log: WireLog,
  clean: (text: string) => string,
): Promise<void> {
  const slice = new TimeSlice();
  const decoder = new TextDecoder();
  const parser = new SseParser();
  let text = '';
  let problem = '';
  try {
    for await (const chunk of chunksOf(body)) {
      const piece = decoder.decode(chunk, { stream: true });
      log.addRaw(exchange, clean(piece));
      if (!exchange.isStream) text = (text + piece).slice(0, maxBody);
      for (const { data } of exchange.isStream ? parser.push(chunk) : []) {
        if (data !== '') log.add(exchange, clean(data));
        await slice.yieldToBrowser();
      }
    }
  } catch {
    // The other branch of the body reports the error to the caller.
    problem = 'the connection was closed before the end';
  }
  if (text !== '') log.add(exchange, clean(text));
  const { kind, frames } = exchange;
  if (problem === '' && kind.operation !== undefined && frames.length === 0) {
    problem = 'the response is empty';
    exchange.faults += 1;
  }
  log.end(exchange, problem);
}
