import type { Exchange, WireFrame } from './exchange.ts';
import { type EventSummary, eventSummary } from './frame-summary.ts';
import { SequenceCheck } from './sequence-check.ts';
import { judgeFrame, judgeRequest, type Spoken, spokenIn } from './validate-frame.ts';

/** Frames looked at in one go: the picture that is being drawn must not wait for more. */
const atOnce = 500;

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

  /** With a further portion of what has come; `isBehind` tells whether that was all. */
  static of(exchange: Exchange): JudgedExchange {
    let judged = this.#known.get(exchange);
    if (judged === undefined) {
      judged = new JudgedExchange(exchange);
      this.#known.set(exchange, judged);
    }
    judged.#look(exchange.frames, exchange.dropped);
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

  #look(frames: readonly WireFrame[], dropped: number): void {
    const first = Math.max(0, this.#seen - dropped);
    const last = Math.min(frames.length, first + atOnce);
    this.#isBehind = last < frames.length;
    for (let index = first; index < last; index += 1) {
      const frame = frames[index];
      if (frame === undefined || frame.number <= this.#seen) continue;
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
