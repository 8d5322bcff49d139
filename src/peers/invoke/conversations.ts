import type { Part } from '../../protocol/index.ts';
import type { Invocation, InvocationOutcome, PeerQuestion } from './invocation.ts';

/**
 * How the invoker reaches the conversation that an invocation belongs to.
 * @example
 * const conversations: Conversations = {
 *   answer: async ({ agent }, { text }, signal) => askModel(`${agent} asks: ${text}`, signal),
 * };
 */
export interface Conversations {
  /** Shows the user what a peer says on its way. */
  progress?(invocation: Invocation, text: string): void | Promise<void>;
  /**
   * Tells the conversation how an invocation ended. May be called again for the same one after a
   * crash; `noticeId` is then the same.
   */
  ended?(
    invocation: Invocation,
    notice: { readonly id: string; readonly text: string; readonly outcome: InvocationOutcome },
  ): Promise<void>;
  /** Puts a peer's question to the user, who answers by `Invoker.answer`. */
  ask?(invocation: Invocation, question: PeerQuestion): Promise<void>;
  /** Lets a model answer a peer's question with all its tools. */
  answer?(
    invocation: Invocation,
    question: PeerQuestion,
    signal: AbortSignal,
  ): Promise<string | readonly Part[]>;
}
