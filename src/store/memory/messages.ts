import type { Json, Message } from '../../protocol/index.ts';
import type { Dedupe } from '../contract.ts';
import { scoped } from '../scoped.ts';

/** A message that was admitted, remembered so that its repetition is recognised. */
export interface KnownMessage {
  readonly name: string;
  readonly digest: string;
  readonly expiresAt: number;
  readonly taskId: string;
  readonly turnId: number;
  reply: Json<Message> | undefined;
}

/** Messages by owner and key, and by the turn they began. */
export class Messages {
  readonly #byName = new Map<string, KnownMessage>();
  readonly #byTurn = new Map<number, KnownMessage>();

  find(owner: string, key: string): KnownMessage | undefined {
    return this.#byName.get(scoped(owner, key));
  }

  ofTurn(turnId: number): KnownMessage | undefined {
    return this.#byTurn.get(turnId);
  }

  add(owner: string, dedupe: Dedupe, taskId: string, turnId: number): void {
    const name = scoped(owner, dedupe.key);
    const { digest, expiresAt } = dedupe;
    const message = { name, digest, expiresAt, taskId, turnId, reply: undefined };
    this.#byName.set(name, message);
    this.#byTurn.set(turnId, message);
  }

  forget(message: KnownMessage): void {
    this.#byName.delete(message.name);
    this.#byTurn.delete(message.turnId);
  }

  /** Forgets those that are over. Only the oldest are looked at, so the cost stays bounded. */
  sweep(isOver: (message: KnownMessage) => boolean, limit: number): void {
    let left = limit;
    for (const message of this.#byName.values()) {
      if (left === 0) return;
      left -= 1;
      if (isOver(message)) this.forget(message);
    }
  }
}
