import type { Exchange, WireFrame } from './exchange.ts';
import { type EventSummary, eventSummary } from './frame-summary.ts';
import { SequenceCheck } from './sequence-check.ts';
import { judgeFrame, judgeRequest, type Spoken, spokenIn } from './validate-frame.ts';

/** Time slice for checking frames, in milliseconds: rendering waits for it. */
const stretch = 2;
/** Frames checked between two looks at the clock, so that slow machines make progress, too. */
const atOnce = 25;

/** The problems of an exchange, frame by frame. Each frame is checked once. */
export class JudgedExchange {
  readonly spoken: Spoken;
  readonly requestProblems: readonly string[];
  readonly #problems = new Map<number, readonly string[]>();
  readonly #summaries = new Map<number, EventSummary>();
  readonly #sequence = new SequenceCheck();
  #seen = 0;
  #isBehind = false;

  private constructor(exchange: Exchange) {
    this.spoken = spokenIn(exchange);
    this.requestProblems = judgeRequest(exchange, this.spoken);
  }

  static readonly #known = new WeakMap<Exchange, JudgedExchange>();

  /** The check of an exchange, as far as it got. */
  static of(exchange: Exchange): JudgedExchange {
    let judged = this.#known.get(exchange);
    if (judged === undefined) {
      judged = new JudgedExchange(exchange);
      this.#known.set(exchange, judged);
    }
    return judged;
  }

  /** Empty for a valid frame. */
  problemsOf({ number }: WireFrame): readonly string[] {
    return this.#problems.get(number) ?? [];
  }

  /** The summary of a frame that is an event. */
  summaryOf({ number }: WireFrame): EventSummary | undefined {
    return this.#summaries.get(number);
  }

  /** Number of invalid frames, including the request. */
  get count(): number {
    return this.#problems.size + (this.requestProblems.length > 0 ? 1 : 0);
  }

  /** Whether there are unchecked frames. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Checks the next batch of frames; `isBehind` is false once all are checked. */
  look({ frames, dropped }: Exchange): void {
    const first = Math.max(0, this.#seen - dropped);
    const startedAt = performance.now();
    let looked = 0;
    this.#isBehind = false;
    for (const frame of frames.slice(first)) {
      if (frame.number <= this.#seen) continue;
      this.#isBehind =
        looked > 0 && looked % atOnce === 0 && performance.now() - startedAt > stretch;
      if (this.#isBehind) return;
      looked += 1;
      this.#seen = frame.number;
      const { problems, event } = judgeFrame(frame.text, this.spoken);
      if (event !== undefined) this.#summaries.set(frame.number, eventSummary(event));
      const isStream = this.spoken.operation?.startsWith('s') === true;
      const ordered = event === undefined || !isStream ? [] : this.#sequence.add(event);
      if (problems.length + ordered.length > 0) {
        this.#problems.set(frame.number, [...problems, ...ordered]);
      }
    }
  }
}
