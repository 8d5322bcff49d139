import { Json } from '../../protocol/index.ts';
import type { LogEvent } from '../contract.ts';

/** Events in a page; only the last page of a sealed log may have fewer. */
const pageLength = 8;

/**
 * All events of one task. Those that are not recent are kept as lines of text, in pages outside of
 * the heap: a fraction of what the objects take, and nothing for the collector to carry about.
 *
 * - **open**: grows; a page is made whenever there are enough events for one.
 * - **sealed**: all of it is pages; nothing is added any more.
 */
export class EventLog {
  #pages: Buffer[] | undefined;
  #recent: LogEvent[] | undefined;

  constructor(first: LogEvent) {
    this.#recent = [first];
  }

  push(event: LogEvent): void {
    this.#recent ??= [];
    this.#recent.push(event);
    if (this.#recent.length === pageLength) this.seal();
  }

  /** Nothing may be pushed after it, unless the last page is full. */
  seal(): void {
    if (this.#recent === undefined) return;
    // No text of JSON has a line break.
    const page = Buffer.from(this.#recent.map(({ body }) => body.text).join('\n'));
    // Most logs have one page, and an array that grows takes room for many.
    if (this.#pages === undefined) this.#pages = [page];
    else this.#pages.push(page);
    this.#recent = undefined;
  }

  /** Events after number `after`, at most `limit` of them. */
  after(after: number, limit: number): readonly LogEvent[] {
    const events: LogEvent[] = [];
    const pages = this.#pages ?? [];
    const firstPage = Math.floor(after / pageLength);
    for (let page = firstPage; page < pages.length && events.length < limit; page += 1) {
      const texts = pages[page]?.toString().split('\n') ?? [];
      const from = page === firstPage ? after % pageLength : 0;
      for (const text of texts.slice(from, from + limit - events.length)) {
        events.push({ sequence: after + events.length + 1, body: Json.fromText(text) });
      }
    }
    const skipped = Math.max(0, after - pages.length * pageLength);
    return [...events, ...(this.#recent ?? []).slice(skipped, skipped + limit - events.length)];
  }
}
