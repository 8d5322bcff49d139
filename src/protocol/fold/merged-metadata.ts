import type { JsonObject, JsonValue } from '../model.ts';

/** Metadata that events add to. Adding costs by what is added, not by what is there already. */
export class MergedMetadata {
  /** Absent after an addition, until it is read. */
  #value: JsonObject | undefined;
  /** Absent until something is added to the value. */
  #members: Map<string, JsonValue> | undefined;

  constructor(value: JsonObject | undefined) {
    this.#value = value;
  }

  /** As it is now; later additions don't change what was returned. */
  get value(): JsonObject | undefined {
    if (this.#members !== undefined) this.#value ??= Object.fromEntries(this.#members);
    return this.#value;
  }

  /** Adds members; of one that is known already, the new value wins. */
  add(more: JsonObject | undefined): void {
    if (more === undefined) return;
    if (this.#members === undefined && this.#value === undefined) {
      this.#value = more;
      return;
    }
    this.#members ??= new Map(Object.entries(this.#value ?? {}));
    for (const [name, value] of Object.entries(more)) this.#members.set(name, value);
    this.#value = undefined;
  }
}
