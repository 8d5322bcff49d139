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

  /** Forgets up to `limit` of those that are over, and counts them. */
  sweep(isOver: (message: KnownMessage) => boolean, limit: number): number {
    let swept = 0;
    for (const message of this.#byName.values()) {
      if (swept === limit) break;
      if (!isOver(message)) continue;
      this.forget(message);
      swept += 1;
    }
    return swept;
  }
}
