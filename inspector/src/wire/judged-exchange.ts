import type { Exchange, WireFrame } from './exchange.ts';
import { type EventSummary, eventSummary } from './frame-summary.ts';
import { SequenceCheck } from './sequence-check.ts';
import { judgeFrame, judgeRequest, type Spoken, spokenIn } from './validate-frame.ts';

/** Time for looking at frames in one go, in milliseconds: the picture that is being drawn waits for it. */
const stretch = 2;
/** However slow it is, it goes on: frames looked at between two looks at the clock. */
const atOnce = 25;

/** What is wrong with an exchange, frame by frame. Each frame is looked at once. */
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

  /** The judgement of an exchange, as far as it was looked at. */
  static of(exchange: Exchange): JudgedExchange {
    let judged = this.#known.get(exchange);
    if (judged === undefined) {
      judged = new JudgedExchange(exchange);
      this.#known.set(exchange, judged);
    }
    return judged;
  }

  /** Empty for a frame that is as it should be. */
  problemsOf({ number }: WireFrame): readonly string[] {
    return this.#problems.get(number) ?? [];
  }

  /** What a frame says, where it is an event. */
  summaryOf({ number }: WireFrame): EventSummary | undefined {
    return this.#summaries.get(number);
  }

  /** Frames with something wrong, and the request if it is. */
  get count(): number {
    return this.#problems.size + (this.requestProblems.length > 0 ? 1 : 0);
  }

  /** Whether there are frames that were not looked at yet. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Looks at a further portion of what has come; `isBehind` tells whether that was all. */
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
