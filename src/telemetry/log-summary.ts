import type { Logger } from './logger.ts';

/** How often what repeats is summarised, in milliseconds. */
const summaryMs = 10_000;
/** Sources that are summarised apart; those beyond it share one summary for each event. */
const maxSources = 1_000;

/**
 * Warns of what others can cause as fast as they send: at once when it starts, and then at most once in
 * ten seconds for each source, with the number since the line before.
 */
export class LogSummary {
  readonly #logger: Logger;
  readonly #countName: string;
  /** How often since the last line, by event and source. */
  readonly #counts = new Map<string, number>();

  /** `countName`: the field that holds the number. */
  constructor(logger: Logger, countName: string) {
    this.#logger = logger;
    this.#countName = countName;
  }

  /** `fields` of the first time are logged each time; `source` is never shown. */
  warn(fields: object, event: string, source = ''): void {
    const own = JSON.stringify([event, source]);
    const isKnown = this.#counts.has(own) || this.#counts.size < maxSources;
    const key = isKnown ? own : event;
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
