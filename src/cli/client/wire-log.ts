import type { BindingCall, BindingChannel, ClientBinding } from '../../client/index.ts';
import type { Redactor } from './redactor.ts';

type Fetch = typeof globalThis.fetch;

/** Characters of one line of a body that are shown. */
const longestLine = 4_096;

/** Tells every message on the wire, line by line, with credentials blacked out. */
export class WireLog {
  readonly #redactor: Redactor;
  readonly #log: (line: string) => void;
  #count = 0;

  constructor(redactor: Redactor, log: (line: string) => void) {
    this.#redactor = redactor;
    this.#log = log;
  }

  /** The same `fetch`, told of. */
  fetch(fetch: Fetch): Fetch {
    return async (input, init) => {
      const exchange = this.#exchange();
      exchange.sent(`${init?.method ?? 'GET'} ${requestUrl(input)}`, new Headers(init?.headers));
      if (typeof init?.body === 'string') exchange.tell('>', init.body);
      const response = await exchange.watch(fetch(input, init));
      exchange.tell('<', `${response.status} ${response.statusText} after ${exchange.passed}`);
      exchange.headers('<', response.headers);
      return withLoggedBody(response, (line) => exchange.tell('<', line));
    };
  }

  /** The same binding, told of: its messages as the JSON that they mean. */
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
      const exchange = this.#exchange();
      exchange.sent(`${operation} ${place}`, call.headers);
      exchange.tell('>', JSON.stringify(json));
      return exchange;
    };
    return {
      call: async (operation, json, call) => {
        const exchange = begin(operation, json, call);
        const answer = await exchange.watch(channel.call(operation, json, call));
        exchange.tell('<', `OK after ${exchange.passed}`);
        exchange.tell('<', JSON.stringify(answer));
        return answer;
      },
      stream: async (operation, json, call) => {
        const exchange = begin(operation, json, call);
        const events = await exchange.watch(channel.stream(operation, json, call));
        exchange.tell('<', `a stream after ${exchange.passed}`);
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

  #exchange(): Exchange {
    this.#count += 1;
    return new Exchange(this.#count, this.#redactor, this.#log);
  }
}

/** One request and its answer. */
class Exchange {
  readonly #number: number;
  readonly #redactor: Redactor;
  readonly #log: (line: string) => void;
  readonly #began = performance.now();

  constructor(number: number, redactor: Redactor, log: (line: string) => void) {
    this.#number = number;
    this.#redactor = redactor;
    this.#log = log;
  }

  get passed(): string {
    return `${Math.round(performance.now() - this.#began)} ms`;
  }

  tell(mark: string, text: string): void {
    this.#log(`[${this.#number}] ${mark} ${this.#redactor.clean(text).slice(0, longestLine)}`);
  }

  headers(mark: string, headers: Headers): void {
    for (const [name, value] of headers) {
      this.tell(mark, `${name}: ${this.#redactor.header(name, value)}`);
    }
  }

  sent(line: string, headers: Headers): void {
    this.tell('>', line);
    this.headers('>', headers);
  }

  /** Tells of a failure, and passes it on. */
  async watch<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      this.tell('!', `${String(cause)} after ${this.passed}`);
      throw error;
    }
  }
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
