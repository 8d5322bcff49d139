import type { BindingCall, BindingChannel, ClientBinding } from '../../client/index.ts';
import type { Redactor } from './redactor.ts';

type Fetch = typeof globalThis.fetch;

/** Maximum length of a line of a body, in characters. */
const longestLine = 4_096;

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
      const exchange = this.#begin(`${init?.method ?? 'GET'} ${url}`, new Headers(init?.headers));
      if (typeof init?.body === 'string') exchange.tell('>', init.body);
      const response = await exchange.watch(fetch(input, init));
      exchange.tell('<', `${response.status} ${response.statusText} after ${exchange.passed()}`);
      exchange.headers('<', response.headers);
      return withLoggedBody(response, (line) => exchange.tell('<', line));
    };
  }

  /** Wraps a binding with logging: its messages as JSON. */
  binding(binding: ClientBinding): ClientBinding {
    return {
      binding: binding.binding,
      locate: (address) => binding.locate(address),
      open: (chosen, limits) => {
        const place = `${binding.binding} ${chosen.version} ${chosen.url.origin}`;
        return this.#channel(binding.open(chosen, limits), place);
      },
    };
  }

  #channel(channel: BindingChannel, place: string): BindingChannel {
    const begin = (operation: string, json: unknown, call: BindingCall): Exchange => {
      const exchange = this.#begin(`${operation} ${place}`, call.headers);
      exchange.tell('>', JSON.stringify(json));
      return exchange;
    };
    return {
      call: async (operation, json, call) => {
        const exchange = begin(operation, json, call);
        const answer = await exchange.watch(channel.call(operation, json, call));
        exchange.tell('<', `OK after ${exchange.passed()}`);
        exchange.tell('<', JSON.stringify(answer));
        return answer;
      },
      stream: async (operation, json, call) => {
        const exchange = begin(operation, json, call);
        const events = await exchange.watch(channel.stream(operation, json, call));
        exchange.tell('<', `a stream after ${exchange.passed()}`);
        return (async function* () {
          for await (const event of events) {
            exchange.tell('<', JSON.stringify(event));
            yield event;
          }
        })();
      },
      close: () => channel.close(),
    };
  }

  /** Logs a request; the returned object logs its answer. */
  #begin(line: string, sent: Headers): Exchange {
    const number = (this.#count += 1);
    const startedAt = performance.now();
    const passed = (): string => `${Math.round(performance.now() - startedAt)} ms`;
    const tell = (mark: string, text: string): void =>
      this.#log(`[${number}] ${mark} ${this.#redactor.clean(text).slice(0, longestLine)}`);
    const headers = (mark: string, all: Headers): void => {
      for (const [name, value] of all) tell(mark, `${name}: ${this.#redactor.header(name, value)}`);
    };
    tell('>', line);
    headers('>', sent);
    return {
      passed,
      tell,
      headers,
      watch: (answer) =>
        answer.catch((error: unknown) => {
          const cause = error instanceof Error ? (error.cause ?? error) : error;
          tell('!', `${String(cause)} after ${passed()}`);
          throw error;
        }),
    };
  }
}

/** One request and its answer. */
interface Exchange {
  readonly passed: () => string;
  readonly tell: (mark: string, text: string) => void;
  readonly headers: (mark: string, headers: Headers) => void;
  /** Logs a failure and rethrows it. */
  readonly watch: <T>(answer: Promise<T>) => Promise<T>;
}

/** Logs whole lines only: a credential that spans two chunks must be redacted, too. */
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
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(lines), { status, statusText, headers });
}
