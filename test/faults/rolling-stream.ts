import { type Frame, stream } from '../replicas/calls.ts';

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

/** A stream that is resumed with `Last-Event-ID` for as long as its task has not ended. */
export class RollingStream {
  readonly #url: string;
  readonly #text: string;
  readonly #numbers: number[] = [];
  #taskId = '';
  #state = '';
  resumed = 0;

  constructor(url: string, text: string) {
    this.#url = url;
    this.#text = text;
  }

  get events(): number {
    return this.#numbers.length;
  }

  /** Follows the task to its end; gives what was wrong on the way. */
  async run(): Promise<string[]> {
    const message = {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text: this.#text }],
    };
    try {
      await this.#follow(
        await fetch(`${this.#url}/message:stream`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ message }),
        }),
      );
      while (!this.#hasEnded) {
        this.resumed += 1;
        const last = String(this.#numbers.at(-1) ?? 0);
        await this.#follow(
          await fetch(`${this.#url}/tasks/${this.#taskId}:subscribe`, {
            headers: { ...headers, 'last-event-id': last },
          }),
        );
      }
    } catch (error) {
      return [`a stream failed after event ${this.#numbers.at(-1)}: ${String(error)}`];
    }
    const isWhole = this.#numbers.every((number, index) => number === index + 1);
    return [
      ...(isWhole ? [] : [`a stream brought the events ${this.#numbers.join(' ')}`]),
      ...(this.#state === 'COMPLETED' ? [] : [`a stream ended as ${this.#state}`]),
    ];
  }

  get #hasEnded(): boolean {
    return ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'].includes(this.#state);
  }

  async #follow(response: Response): Promise<void> {
    for await (const frame of stream(response)) this.#take(frame);
  }

  #take({ id, data }: Frame): void {
    this.#numbers.push(id);
    const event = JSON.parse(data) as {
      task?: { id: string; status: { state: string } };
      statusUpdate?: { status: { state: string } };
    };
    this.#taskId ||= event.task?.id ?? '';
    const state = (event.task ?? event.statusUpdate)?.status.state;
    if (state !== undefined) this.#state = state.slice('TASK_STATE_'.length);
  }
}
