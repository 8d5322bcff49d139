import type { JsonObject } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import type { Candidate } from '../candidate.ts';
import type { Message } from '../words/words.ts';
import { isNegated, type Mood, moodOf } from './mood.ts';
import { closeness, leastConfidence } from './requests.ts';
import type { Turn } from './turn.ts';

const mostExplained = 4;

/** The best candidates for a message, best first, with a sentence why each one won or lost. */
export function explainedCandidates(turn: Turn, commands: readonly Command[]): JsonObject[] {
  const candidates = turn.index
    .rank(turn.message, turn.read().values)
    .filter((one) => one.confidence >= 0.2)
    .slice(0, mostExplained);
  const best = Math.max(0, ...candidates.map((one) => one.score));
  return candidates.map((candidate) => {
    const { flow, score, confidence, phrase, explained, unexplained } = candidate;
    const isChosen = commands.some((one) => one.command === 'start flow' && one.flow === flow.id);
    const isOffered = commands.some(
      (one) => one.command === 'clarify' && one.options.includes(flow.id),
    );
    return {
      flow: flow.id,
      score: rounded(score),
      confidence: rounded(confidence),
      phrase,
      words: explained.map(({ word, stem, by }) =>
        by === 'word' ? word : `${word} (${by}: ${stem})`,
      ),
      unexplained,
      outcome: isChosen ? 'started' : isOffered ? 'offered' : 'not started',
      why: why(turn.message, candidate, {
        best,
        isChosen,
        isOffered,
        isFree: isStartable(turn, candidate),
      }),
    };
  });
}

function isStartable(turn: Turn, { flow }: Candidate): boolean {
  return turn.isActive(flow) || turn.input.flows.some((one) => one.id === flow.id);
}

/** Why a likely flow does not start, keyed by mood. */
const reasons: Readonly<Record<Mood, string>> = {
  'how-to': 'The message asks how to do it.',
  question: 'The message asks about it.',
  'look-up': 'The message asks to see something; the flow changes it.',
  reported: 'The message mentions it without asking for it.',
  plain: 'Another flow, or an answer to the open question, fits the message better.',
};

interface Outcome {
  readonly best: number;
  readonly isChosen: boolean;
  readonly isOffered: boolean;
  readonly isFree: boolean;
}

function why(message: Message, candidate: Candidate, outcome: Outcome): string {
  const { score, confidence, unexplained, phrase } = candidate;
  const share = `${Math.round(100 * confidence)} %`;
  if (outcome.isChosen) return `Explains ${share} of the message, nearest to "${phrase}".`;
  if (outcome.isOffered) return 'As likely as another flow, or the message asks how to do it.';
  if (!outcome.isFree) return 'Its flow guard is false.';
  if (confidence < leastConfidence) {
    const words = unexplained.map((word) => `"${word}"`).join(', ');
    const least = `${Math.round(100 * leastConfidence)} %`;
    return `Explains ${share} of the message and needs ${least}${words === '' ? '' : `; it has no word for ${words}`}.`;
  }
  if (score < outcome.best * closeness) {
    return `Scores ${Math.round((100 * score) / outcome.best)} % of the best one.`;
  }
  if (isNegated(message, candidate)) return 'The message negates it.';
  return reasons[moodOf(message, candidate)];
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
