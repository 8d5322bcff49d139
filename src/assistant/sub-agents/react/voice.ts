import type { Call } from '../../executor/call-handler.ts';

/** What was shown of a message while it came to be. */
export interface Shown {
  readonly id: string;
  readonly text: string;
}

/**
 * Says an answer of the model while it comes to be, to users whose channel shows pieces. An answer
 * that the model begins anew is a message of its own, for nothing can be taken back.
 */
export class Voice {
  readonly #call: Call;
  #open: { readonly id: string; text: string } | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  async say(text: string, isStart: boolean): Promise<void> {
    if (isStart) await this.end();
    if (this.#open === undefined) {
      this.#open = { id: crypto.randomUUID(), text: '' };
      await this.#call.stream({ kind: 'start', streamId: this.#open.id });
    }
    this.#open.text += text;
    await this.#call.stream({ kind: 'chunk', streamId: this.#open.id, text });
  }

  async end(): Promise<Shown | undefined> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return undefined;
    await this.#call.stream({ kind: 'end', streamId: open.id });
    return { id: open.id, text: open.text.trim() };
  }
}

/** Marks a message that was shown as it is, so that it is not shown again. */
export function shownAs(
  shown: Shown | undefined,
  text: string,
): { readonly streamed?: true; readonly stream_id?: string } {
  return shown?.text === text ? { streamed: true, stream_id: shown.id } : {};
}
