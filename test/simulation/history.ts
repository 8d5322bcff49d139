/** What happened, in words, for people. Off unless a history is to be shown: it costs more than the rest. */
export class History {
  readonly lines: string[] = [];
  readonly isKept: boolean;
  readonly #now: () => number;

  constructor(isKept: boolean, now: () => number) {
    this.isKept = isKept;
    this.#now = now;
  }

  note(who: string, what: () => string): void {
    if (!this.isKept) return;
    this.lines.push(`${this.#now().toFixed(2).padStart(10)}  ${who.padEnd(8)} ${what()}`);
  }
}
