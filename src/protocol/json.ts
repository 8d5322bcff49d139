import type { JsonObject, JsonValue } from './model.ts';

/**
 * A JSON value as an object, as text, or both. The missing form is created on first use and kept: text
 * that goes from the store to a wire is never parsed, and values that stay in memory are never
 * serialized.
 * @example const json = Json.of({ a: 1 }); json.text // '{"a":1}'
 */
export class Json<T> {
  #value: T | undefined;
  /** A function if the text is derived from shared text. */
  #text: string | (() => string) | undefined;

  private constructor(value: T | undefined, text: string | (() => string) | undefined) {
    this.#value = value;
    this.#text = text;
  }

  static of<T>(value: T): Json<T> {
    return new Json(value, undefined);
  }

  static fromText<T>(text: string): Json<T> {
    return new Json<T>(undefined, text);
  }

  /** A task as the first event of its log; both share their text. */
  static ofTask<T>(task: Json<T>): Json<{ readonly task: T }> {
    return new Json({ task: task.value }, () => `{"task":${task.text}}`);
  }

  /** Whether `value` is available without parsing. */
  get isParsed(): boolean {
    return this.#value !== undefined;
  }

  get value(): T {
    this.#value ??= JSON.parse(typeof this.#text === 'string' ? this.#text : 'null') as T;
    return this.#value;
  }

  get text(): string {
    if (typeof this.#text !== 'string') {
      this.#text = this.#text === undefined ? JSON.stringify(this.#value) : this.#text();
    }
    return this.#text;
  }
}

/**
 * Whether a value is a JSON object. A list is not one.
 * @example isJsonObject([]) // false
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a JSON list. `Array.isArray` does not narrow to a readonly one. */
export function isJsonList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
