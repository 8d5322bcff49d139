import type { ActionMessage, StreamPiece } from './runner.ts';

/** What one stream may hold, in characters. */
const MAX_CHARACTERS = 1024 * 1024;

/**
 * A message that is shown while it comes to be. Idle until `start` or the first chunk, open until
 * `end`; then idle again. Each ended stream is also one whole message of the action, marked so
 * that channels which showed the pieces can leave it out.
 */
export class MessageStream {
  readonly #show: (piece: StreamPiece) => Promise<void>;
  readonly #newId: () => string;
  readonly #ended: (message: ActionMessage) => void;
  #open: { readonly streamId: string; text: string } | undefined;

  constructor(options: {
    readonly show: (piece: StreamPiece) => Promise<void>;
    readonly newId: () => string;
    readonly ended: (message: ActionMessage) => void;
  }) {
    this.#show = options.show;
    this.#newId = options.newId;
    this.#ended = options.ended;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  async start(): Promise<void> {
    if (this.#open !== undefined)
      throw new Error('the stream is open: end it before starting another');
    this.#open = { streamId: this.#newId(), text: '' };
    await this.#show({ kind: 'start', streamId: this.#open.streamId });
  }

  async chunk(text: string): Promise<void> {
    if (this.#open === undefined) await this.start();
    const open = this.#open;
    if (open === undefined) throw new Error('the stream was ended while a chunk was written');
    open.text += text;
    if (open.text.length > MAX_CHARACTERS) {
      throw new Error(`a stream may hold ${MAX_CHARACTERS} characters: end it and start another`);
    }
    await this.#show({ kind: 'chunk', streamId: open.streamId, text });
  }

  async end(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    await this.#show({ kind: 'end', streamId: open.streamId });
    this.#ended({ text: open.text, metadata: { streamed: true, stream_id: open.streamId } });
  }
}
