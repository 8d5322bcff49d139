import { z } from 'zod';
import {
  type Artifact,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Part,
} from '../protocol/index.ts';

/** Schemas of values in stored state. Messages were validated when they arrived. */
export const json = z.custom<JsonValue>((value) => value !== undefined);
export const jsonObject = z.custom<JsonObject>(isJsonObject);
export const part = z.custom<Part>(isJsonObject);
export const artifact = z.custom<Artifact>((value) => isJsonObject(value) && 'parts' in value);

/** Maximum number of waiting tasks of one conversation. */
const maxWaiting = 32;

/**
 * Saved state of an agent that passes turns to other agents: the state of each waiting task, and the
 * values of its children, by name.
 */
export class SavedTasks<Stop> {
  readonly children = new Map<string, JsonObject>();
  readonly #stops: Map<string, JsonValue>;
  readonly #format: StopFormat<Stop>;

  constructor(format: StopFormat<Stop>, stops: JsonValue | undefined, children?: JsonValue) {
    this.#format = format;
    this.#stops = new Map(isJsonObject(stops) ? Object.entries(stops) : []);
    for (const [name, value] of isJsonObject(children) ? Object.entries(children) : [])
      if (isJsonObject(value)) this.children.set(name, value);
  }

  /** Removes and returns the state of a waiting task. */
  take(taskId: string): Stop | undefined {
    const stop = this.#stops.get(taskId);
    this.#stops.delete(taskId);
    return stop === undefined ? undefined : this.#format.decode(stop, taskId);
  }

  /**
   * Saves the state of a waiting task. Tasks that ended without their agent stay in the map, so the
   * oldest are evicted; the answer to an evicted task is handled as an ordinary message.
   */
  stop(taskId: string, stop: Stop): void {
    const [oldest] = this.#stops.keys();
    if (this.#stops.size >= maxWaiting && oldest !== undefined) this.#stops.delete(oldest);
    this.#stops.set(taskId, this.#format.encode(stop).value);
  }

  /** The value to save, with the waiting tasks under `key`; empty if there is nothing to save. */
  toValue(key: string): JsonObject {
    return {
      ...(this.#stops.size > 0 && { [key]: Object.fromEntries(this.#stops) }),
      ...(this.children.size > 0 && { children: Object.fromEntries(this.children) }),
    };
  }
}

interface StopFormat<Stop> {
  decode(value: JsonValue, taskId: string): Stop | undefined;
  encode(stop: Stop): { readonly value: JsonValue };
}
