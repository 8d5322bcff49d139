import type { JsonObject, JsonValue } from '../protocol/index.ts';

/** Tasks of one conversation that may wait for their caller at one time. */
const maxWaiting = 32;

/**
 * State of a composite agent: the pause of each waiting task, and the values of its children, by
 * name. Plain JSON.
 */
export class SavedTasks<Stop extends object> {
  readonly children: Map<string, JsonObject>;
  readonly #stops: Map<string, Stop>;

  constructor(stops: JsonValue | undefined, children: JsonValue | undefined) {
    this.#stops = new Map(entriesOf(stops) as [string, never][]);
    this.children = new Map(entriesOf(children) as [string, JsonObject][]);
  }

  /** Removes and returns the pause of a task. */
  take(taskId: string): Stop | undefined {
    const stop = this.#stops.get(taskId);
    this.#stops.delete(taskId);
    return stop;
  }

  /**
   * Saves the pause of a task. Tasks that ended without their agent leave theirs in the map, so the
   * oldest are evicted; an evicted task gets the answer as an ordinary message.
   */
  stop(taskId: string, stop: Stop): void {
    const [oldest] = this.#stops.keys();
    if (this.#stops.size >= maxWaiting && oldest !== undefined) this.#stops.delete(oldest);
    this.#stops.set(taskId, stop);
  }

  /** The value to save, with the pauses under `name`; empty when there are none. */
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
