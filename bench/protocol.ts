/**
 * The messages between the processes of the benchmark. The main process starts the servers under test and
 * the load generator as separate processes, and sends them requests over IPC.
 */

/** The measurements that a server under test reports. */
export interface Usage {
  /** Processor time since the start, user and system, in microseconds. */
  readonly cpuMicros: number;
  /** Resident memory in bytes. */
  readonly rss: number;
  /** The highest `rss` since the previous report, sampled every 100 ms. */
  readonly peakRss: number;
  /**
   * The number of turns that the agent has finished, and the duration of the last one in milliseconds.
   */
  readonly turns: number;
  readonly lastTurnMs: number;
}

/** A POST whose bodies differ in one place. */
export interface RequestTemplate {
  readonly port: number;
  readonly accept: string;
  /** ASCII, both; a value is inserted between them. */
  readonly before: string;
  readonly after: string;
  /** The values, used in turn; without them each request gets a new id. */
  readonly values?: readonly string[];
  /** A response without this text, or without status 200, is an error. */
  readonly expects: string;
}

export type Job =
  | {
      readonly kind: 'load';
      readonly request: RequestTemplate;
      readonly connections: number;
      /** The first limit that is reached ends the load. */
      readonly milliseconds: number;
      readonly requests: number;
      /**
       * Requests are due at this rate, and their latency counts from then. Without it, each request
       * follows the previous response.
       */
      readonly perSecond?: number;
    }
  /** Sends one request and doesn't read the response until the next `hang-up`. */
  | { readonly kind: 'ignore'; readonly request: RequestTemplate }
  | { readonly kind: 'hang-up' };

export interface LoadResult {
  readonly requests: number;
  readonly errors: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The bytes of all response bodies. */
  readonly bytes: number;
  /** The start of one unexpected response, for the error message. */
  readonly firstError?: string;
}

/** One request over IPC and its response; `id` correlates them. */
export interface Asked<Question> {
  readonly id: number;
  readonly question: Question;
}
export type Answered<Answer> = { readonly id: number } & (
  | { readonly answer: Answer }
  | { readonly failure: string }
);
