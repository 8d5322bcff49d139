import { Changes } from '../api/changes.ts';

/** One event of a stream, or a whole response, as received. */
export interface WireFrame {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly text: string;
  /** The id of a server-sent event. */
  readonly id?: string;
  readonly event?: string;
}

/** One HTTP request with its response. Secrets are redacted before anything is stored. */
export interface Exchange {
  readonly number: number;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly requestBody: string;
  readonly startedAt: number;
  endedAt: number | undefined;
  status: number | undefined;
  responseHeaders: readonly (readonly [string, string])[];
  isStream: boolean;
  readonly frames: WireFrame[];
  /** Number of frames dropped to limit memory. */
  dropped: number;
  problem: string;
}

const maxExchanges = 200;
const maxFrames = 20_000;

/** The exchanges of one conversation. */
export class WireLog extends Changes {
  readonly exchanges: Exchange[] = [];
  #count = 0;

  begin(start: Pick<Exchange, 'method' | 'url' | 'requestHeaders' | 'requestBody'>): Exchange {
    this.#count += 1;
    const exchange: Exchange = {
      ...start,
      number: this.#count,
      startedAt: Date.now(),
      endedAt: undefined,
      status: undefined,
      responseHeaders: [],
      isStream: false,
      frames: [],
      dropped: 0,
      problem: '',
    };
    this.exchanges.push(exchange);
    if (this.exchanges.length > maxExchanges) this.exchanges.shift();
    this.changed();
    return exchange;
  }

  add(exchange: Exchange, frame: Omit<WireFrame, 'number' | 'time'>): void {
    const number = exchange.dropped + exchange.frames.length + 1;
    exchange.frames.push({ ...frame, number, time: Date.now() });
    if (exchange.frames.length > maxFrames) {
      // In batches: removing single frames from the front would take quadratic time.
      exchange.frames.splice(0, 1_000);
      exchange.dropped += 1_000;
    }
    this.changed();
  }

  clear(): void {
    this.exchanges.length = 0;
    this.changed();
  }
}
