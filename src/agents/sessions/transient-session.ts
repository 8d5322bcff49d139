import type { JsonValue } from '../../protocol/index.ts';
import type { Session, Turn } from '../agent.ts';

/** A session in memory: it ends with the turn. */
class TransientSession implements Session {
  readonly #values = new Map<string, JsonValue>();

  async get(key: string): Promise<JsonValue | undefined> {
    return this.#values.get(key);
  }
  set(key: string, value: JsonValue): void {
    this.#values.set(key, value);
  }
  delete(key: string): void {
    this.#values.delete(key);
  }
  async entries(): Promise<ReadonlyMap<string, JsonValue>> {
    return new Map(this.#values);
  }
}

const transient = new WeakMap<Turn, Session>();

/**
 * The session of a turn; where the driver keeps none, one that ends with the turn.
 * @example const count = await sessionOf(turn).get('count');
 */
export function sessionOf(turn: Turn): Session {
  if (turn.session !== undefined) return turn.session;
  let session = transient.get(turn);
  if (session === undefined) {
    session = new TransientSession();
    transient.set(turn, session);
  }
  return session;
}
