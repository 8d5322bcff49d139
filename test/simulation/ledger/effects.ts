import type { JsonValue } from '../../../src/protocol/index.ts';
import type { Append } from '../../../src/store/index.ts';
import type { AgentTraits } from '../plan.ts';
import type { Report } from '../violation.ts';
import type { TurnAccount } from './turns.ts';

/** What the scripted agent keeps of a conversation, in its value and in its log. */
export interface Tally {
  /** Messages that had their effect. */
  readonly count: number;
}
export type TallyEntry = { readonly messageId: string } | { readonly abandoned: string };

/**
 * What messages did. Rules: a message has its effect at most once, exactly once when its sender was
 * told that it was handled, and never when the sender was told that it was not; the count of a
 * conversation is that of its effects.
 */
export class Effects {
  readonly #report: Report;
  readonly #isCounted: boolean;
  readonly #counts = new Map<string, number>();
  readonly #effective = new Set<string>();
  readonly #refused = new Set<string>();

  constructor(report: Report, traits: AgentTraits) {
    this.#report = report;
    this.#isCounted = traits.serialise !== 'task';
  }

  append({ context, taskId }: Append, turn: TurnAccount | undefined): void {
    if (context === undefined) return;
    const { owner, contextId } = context;
    const name = `${owner}\n${contextId}`;
    let count = this.#counts.get(name) ?? 0;
    for (const { value } of context.log ?? []) {
      const entry = value as unknown as TallyEntry;
      if (!('messageId' in entry)) continue;
      count += 1;
      const { messageId } = entry;
      if (turn?.messageId !== messageId) {
        this.#report('a turn has the effect of its own message', `${taskId}: ${messageId}`);
      }
      if (this.#effective.has(messageId)) {
        this.#report('a message has its effect once', `${messageId} in ${taskId} again`);
      }
      if (this.#refused.has(messageId)) {
        this.#report('a refused message has no effect', `${messageId} in ${taskId}`);
      }
      this.#effective.add(messageId);
    }
    this.#counts.set(name, count);
    const written = (context.value?.value as JsonValue as unknown as Tally | undefined)?.count;
    if (this.#isCounted && written !== count) {
      this.#report(
        'a conversation counts its effects',
        `${contextId}: ${written} was written after ${count} effects`,
      );
    }
  }

  has(messageId: string): boolean {
    return this.#effective.has(messageId);
  }

  /** A sender was told that its message was handled to the end. */
  acknowledged(messageId: string, how: string): void {
    if (this.#effective.has(messageId)) return;
    this.#report('an acknowledged message has had its effect', `${messageId}, ${how}`);
  }

  /** A sender was told that its message came too late. */
  refused(messageId: string): void {
    if (this.#effective.has(messageId)) {
      this.#report('a refused message has no effect', messageId);
    }
    this.#refused.add(messageId);
  }
}
