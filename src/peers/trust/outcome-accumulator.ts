import type { TurnEvent } from '../../agents/index.ts';
import type { Part } from '../../protocol/index.ts';

const maxText = 20_000;

/** Accumulates the text of a turn, within bounds. */
export class OutcomeAccumulator {
  #text = '';
  #end: string | undefined;

  add(event: TurnEvent): void {
    if (!('kind' in event)) this.#take(event.parts);
    else if (event.kind === 'chunk') this.#take(event.artifact.parts);
    else if (event.kind !== 'working') {
      this.#end = event.kind;
      this.#take(event.parts ?? []);
    }
  }

  /** How the turn ended, once it has. */
  get end(): string | undefined {
    return this.#end;
  }

  /** A turn without an end is completed too. */
  get isCompleted(): boolean {
    return this.#end === undefined || this.#end === 'completed' || this.#end === 'message';
  }

  get text(): string {
    return this.#text === '' ? '(no text)' : this.#text;
  }

  #take(parts: readonly Part[]): void {
    for (const part of parts) {
      if (this.#text.length >= maxText) return;
      const said = part.text ?? (part.data === undefined ? '' : JSON.stringify(part.data));
      this.#text = (this.#text + said).slice(0, maxText);
    }
  }
}
