import type { JsonObject, JsonValue } from '../protocol/index.ts';

/** Tasks of one conversation that may wait for their caller at one time. */
const mostWaiting = 32;

/**
 * What an agent made of others keeps in its context: where each task stopped to ask, and what its
 * children keep, by their names. Plain JSON.
 */
export class SavedTasks<Stop extends object> {
  readonly children: Map<string, JsonObject>;
  readonly #stops: Map<string, Stop>;

  constructor(stops: JsonValue | undefined, children: JsonValue | undefined) {
    this.#stops = new Map(entriesOf(stops) as [string, never][]);
    this.children = new Map(entriesOf(children) as [string, JsonObject][]);
  }

  /** Where a task stopped, which it does not any more. */
  take(taskId: string): Stop | undefined {
    const stop = this.#stops.get(taskId);
    this.#stops.delete(taskId);
    return stop;
  }

  /**
   * Notes where a task stopped. Tasks that ended without their agent leave theirs behind, so the
   * oldest give way; a task that lost it hears the answer as an ordinary message.
   */
  stop(taskId: string, stop: Stop): void {
    const [oldest] = this.#stops.keys();
    if (this.#stops.size >= mostWaiting && oldest !== undefined) this.#stops.delete(oldest);
    this.#stops.set(taskId, stop);
  }

  /** What is to be saved, the stops under `name`; empty where there is nothing. */
  toValue(name: string): JsonObject {
    return {
      ...(this.#stops.size > 0 && { [name]: Object.fromEntries(this.#stops) as JsonValue }),
      ...(this.children.size > 0 && { children: Object.fromEntries(this.children) }),
    };
  }
}

function entriesOf(value: JsonValue | undefined): [string, JsonValue][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
