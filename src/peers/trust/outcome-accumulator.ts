import type { TurnEvent } from '../../agents/index.ts';
import type { Part } from '../../protocol/index.ts';

const mostText = 20_000;

/** What an agent said in a turn, as text and within bounds. */
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
    return this.#text === '' ? '(no words)' : this.#text;
  }

  #take(parts: readonly Part[]): void {
    for (const part of parts) {
      if (this.#text.length >= mostText) return;
      const said = part.text ?? (part.data === undefined ? '' : JSON.stringify(part.data));
      this.#text = (this.#text + said).slice(0, mostText);
    }
  }
}
