import type { Logger } from './logger.ts';

/** Interval of summaries of repeated events, in milliseconds. */
const summaryMs = 10_000;
/** Most sources with their own summaries; further ones share one summary per event. */
const maxSources = 1_000;

/**
 * Limits warnings that clients can cause at any rate. The first one is logged at once, then at most one
 * every ten seconds for each source, with the number of events since the previous line.
 */
export class LogSummary {
  readonly #logger: Logger;
  readonly #countName: string;
  /** Number of events since the last line, by event and source. */
  readonly #counts = new Map<string, number>();

  /** `countName`: the field with the number. */
  constructor(logger: Logger, countName: string) {
    this.#logger = logger;
    this.#countName = countName;
  }

  /**
   * Each line has the fields of the first warning. `source` is never logged. `common` are the fields that
   * do not depend on the source: the summary of further sources has only these.
   */
  warn(all: object, event: string, source = '', common = all): void {
    const own = JSON.stringify([event, source]);
    const isKnown = this.#counts.has(own) || this.#counts.size < maxSources;
    const key = isKnown ? own : event;
    const fields = isKnown ? all : common;
    const count = this.#counts.get(key);
    this.#counts.set(key, (count ?? 0) + 1);
    if (count !== undefined) return;
    this.#counts.set(key, 0);
    this.#logger.warn({ ...fields, [this.#countName]: 1 }, event);
    this.#schedule(key, fields, event);
  }

  #schedule(key: string, fields: object, event: string): void {
    setTimeout(() => {
      const count = this.#counts.get(key) ?? 0;
      if (count === 0) return void this.#counts.delete(key);
      this.#counts.set(key, 0);
      this.#logger.warn({ ...fields, [this.#countName]: count }, event);
      return this.#schedule(key, fields, event);
    }, summaryMs).unref();
  }
}
