import { createHash } from 'node:crypto';
import type { Invocation } from './invocation.ts';

export interface LoopLimits {
  /** How often a peer may ask. @default 20 */
  readonly maxInputRequiredRounds?: number;
  /** How often the same question may get the same answer, one after the other. @default 3 */
  readonly repetitionThreshold?: number;
}

/** Why a conversation with a peer was ended, in words that help the next caller. */
export const loopTexts = {
  max_rounds:
    'The multi-turn conversation was terminated: max rounds exceeded. Consider breaking the request into smaller parts or providing more specific instructions.',
  repetition:
    'The multi-turn conversation was terminated: the conversation is stuck in a loop, the same question got the same answer again and again. Restructure the request so that it holds what the agent asks for.',
} as const;

const comparedLength = 500;

/** Counts an exchange with a peer. Only the beginnings of question and answer are compared. */
export function countExchange(
  invocation: Invocation,
  answer: string,
): NonNullable<Invocation['lastExchange']> {
  const question = invocation.question?.text ?? '';
  const digest = createHash('sha256')
    .update(JSON.stringify([question.slice(0, comparedLength), answer.slice(0, comparedLength)]))
    .digest('base64url');
  const isSame = invocation.lastExchange?.digest === digest;
  return { digest, count: isSame ? (invocation.lastExchange?.count ?? 0) + 1 : 1 };
}
