/**
 * A JSON value that is known as an object, as text, or both; the missing one is made on first use
 * and kept. What was read from a store and goes to a wire is never parsed, and what stays in
 * memory is never serialised.
 * @example const json = Json.of({ a: 1 }); json.text // '{"a":1}'
 */
export class Json<T> {
  #value: T | undefined;
  #text: string | undefined;

  private constructor(value: T | undefined, text: string | undefined) {
    this.#value = value;
    this.#text = text;
  }

  static of<T>(value: T): Json<T> {
    return new Json(value, undefined);
  }

  static fromText<T>(text: string): Json<T> {
    return new Json<T>(undefined, text);
  }

  /** Whether `value` costs nothing. */
  get isParsed(): boolean {
    return this.#value !== undefined;
  }

  get value(): T {
    this.#value ??= JSON.parse(this.#text ?? 'null') as T;
    return this.#value;
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.#value);
    return this.#text;
  }
}
