import type { Call } from '../../executor/call-handler.ts';

/** The part of a message that was streamed. */
export interface StreamedText {
  readonly id: string;
  readonly text: string;
}

/**
 * Streams an answer of the model to users whose channel supports it. An answer that the model
 * restarts becomes another message, since streamed chunks can't be withdrawn.
 */
export class AnswerStream {
  readonly #call: Call;
  #open: { readonly id: string; text: string } | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  async write(text: string, isStart: boolean): Promise<void> {
    if (isStart) await this.end();
    if (this.#open === undefined) {
      this.#open = { id: crypto.randomUUID(), text: '' };
      await this.#call.stream({ kind: 'start', streamId: this.#open.id });
    }
    this.#open.text += text;
    await this.#call.stream({ kind: 'chunk', streamId: this.#open.id, text });
  }

  async end(): Promise<StreamedText | undefined> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return undefined;
    await this.#call.stream({ kind: 'end', streamId: open.id });
    return { id: open.id, text: open.text.trim() };
  }
}

/** Marks a message as streamed, so that it is not sent again. */
export function streamedMark(
  streamed: StreamedText | undefined,
  text: string,
): { readonly streamed?: true; readonly stream_id?: string } {
  return streamed?.text === text ? { streamed: true, stream_id: streamed.id } : {};
}
