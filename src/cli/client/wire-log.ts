import type { BindingCall, BindingChannel, ClientBinding } from '../../client/index.ts';
import type { Redactor } from './redactor.ts';

type Fetch = typeof globalThis.fetch;

/** Maximum length of a line of a body, in characters. */
const maxLineLength = 4_096;

/** Logs every message on the wire, line by line, with credentials redacted. */
export class WireLog {
  readonly #redactor: Redactor;
  readonly #log: (line: string) => void;
  #count = 0;

  constructor(redactor: Redactor, log: (line: string) => void) {
    this.#redactor = redactor;
    this.#log = log;
  }

  /** Wraps `fetch` with logging. */
  fetch(fetch: Fetch): Fetch {
    return async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      const exchange = this.#start(`${init?.method ?? 'GET'} ${url}`, new Headers(init?.headers));
      if (typeof init?.body === 'string') exchange.log('>', init.body);
      const response = await exchange.logFailure(fetch(input, init));
      exchange.log('<', `${response.status} ${response.statusText} after ${exchange.elapsed()}`);
      exchange.headers('<', response.headers);
      return withLoggedBody(response, (line) => exchange.log('<', line));
    };
  }

  /** Wraps a binding with logging: its messages as JSON. */
  binding(binding: ClientBinding): ClientBinding {
    return {
      binding: binding.binding,
      locate: (address) => binding.locate(address),
      open: (chosen, limits) => {
        const target = `${binding.binding} ${chosen.version} ${chosen.url.origin}`;
        return this.#channel(binding.open(chosen, limits), target);
      },
    };
  }

  #channel(channel: BindingChannel, target: string): BindingChannel {
    const start = (operation: string, json: unknown, call: BindingCall): Exchange => {
      const exchange = this.#start(`${operation} ${target}`, call.headers);
      exchange.log('>', JSON.stringify(json));
      return exchange;
    };
    return {
      call: async (operation, json, call) => {
        const exchange = start(operation, json, call);
        const answer = await exchange.logFailure(channel.call(operation, json, call));
        exchange.log('<', `OK after ${exchange.elapsed()}`);
        exchange.log('<', JSON.stringify(answer));
        return answer;
      },
      stream: async (operation, json, call) => {
        const exchange = start(operation, json, call);
        const events = await exchange.logFailure(channel.stream(operation, json, call));
        exchange.log('<', `a stream after ${exchange.elapsed()}`);
        return (async function* () {
          for await (const event of events) {
            exchange.log('<', JSON.stringify(event));
            yield event;
          }
        })();
      },
      close: () => channel.close(),
    };
  }

  /** Logs a request; the returned object logs its answer. */
  #start(line: string, sent: Headers): Exchange {
    const number = (this.#count += 1);
    const startedAt = performance.now();
    const elapsed = (): string => `${Math.round(performance.now() - startedAt)} ms`;
    const log = (mark: string, text: string): void =>
      this.#log(`[${number}] ${mark} ${this.#redactor.wire(text).slice(0, maxLineLength)}`);
    const headers = (mark: string, all: Headers): void => {
      for (const [name, value] of all) log(mark, `${name}: ${this.#redactor.header(name, value)}`);
    };
    log('>', line);
    headers('>', sent);
    return {
      elapsed,
      log,
      headers,
      logFailure: (answer) =>
        answer.catch((error: unknown) => {
          const cause = error instanceof Error ? (error.cause ?? error) : error;
          log('!', `${String(cause)} after ${elapsed()}`);
          throw error;
        }),
    };
  }
}

/** One request and its answer. */
interface Exchange {
  readonly elapsed: () => string;
  readonly log: (mark: string, text: string) => void;
  readonly headers: (mark: string, headers: Headers) => void;
  /** Logs a failure and rethrows it. */
  readonly logFailure: <T>(answer: Promise<T>) => Promise<T>;
}

/** Logs whole lines only: a credential that spans two chunks must be redacted, too. */
function withLoggedBody(response: Response, log: (line: string) => void): Response {
  if (response.body === null) return response;
  const decoder = new TextDecoder();
  let pending = '';
  const lines = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      pending += decoder.decode(piece, { stream: true });
      const complete = pending.split('\n');
      pending = complete.pop() ?? '';
      for (const line of complete) if (line.trim() !== '') log(line);
      controller.enqueue(piece);
    },
    flush() {
      if (pending.trim() !== '') log(pending);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(lines), { status, statusText, headers });
}
