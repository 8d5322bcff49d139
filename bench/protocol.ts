/**
 * What the benchmark's processes say to each other. The main process starts the servers under test
 * and the load generator as processes of their own, and asks them over IPC.
 */

/** The measurements that a server under test reports. */
export interface Usage {
  /** Processor time since the start, user and system, in microseconds. */
  readonly cpuMicros: number;
  /** Resident memory in bytes. */
  readonly rss: number;
  /** The highest of `rss` seen since the last answer, sampled every 100 ms. */
  readonly peakRss: number;
  /** Turns that the agent has finished, and how long the last of them took in milliseconds. */
  readonly turns: number;
  readonly lastTurnMs: number;
}

/** A POST whose body differs from request to request in one place. */
export interface RequestTemplate {
  readonly port: number;
  readonly accept: string;
  /** ASCII, both; between them stands a value. */
  readonly before: string;
  readonly after: string;
  /** Used in turn; without them each request gets a new id. */
  readonly values?: readonly string[];
  /** An answer without this text, or without status 200, is an error. */
  readonly expects: string;
}

export type Job =
  | {
      readonly kind: 'load';
      readonly request: RequestTemplate;
      readonly connections: number;
      /** Ends the load, whichever comes first. */
      readonly milliseconds: number;
      readonly requests: number;
      /** Requests are due at this rate, and their time counts from then; without it, after each answer. */
      readonly perSecond?: number;
    }
  /** Sends one request and leaves its answer unread until the next `hang-up`. */
  | { readonly kind: 'ignore'; readonly request: RequestTemplate }
  | { readonly kind: 'hang-up' };

export interface LoadResult {
  readonly requests: number;
  readonly errors: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of all answers together, bodies only. */
  readonly bytes: number;
  /** The start of one wrong answer, for the error message. */
  readonly firstError?: string;
}

/** One question over IPC and its answer; `id` pairs them. */
export interface Asked<Question> {
  readonly id: number;
  readonly question: Question;
}
export type Answered<Answer> = { readonly id: number } & (
  | { readonly answer: Answer }
  | { readonly failure: string }
);
