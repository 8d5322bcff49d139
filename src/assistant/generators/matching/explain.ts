import type { JsonObject } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import type { Candidate } from '../candidate.ts';
import { closeness, leastConfidence } from './requests.ts';
import type { Turn } from './turn.ts';

const mostExplained = 4;

/** The flows that a message was compared with, best first, and in a sentence why each won or lost. */
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
      why: why(candidate, { best, isChosen, isOffered, isFree: isStartable(turn, candidate) }),
    };
  });
}

function isStartable(turn: Turn, { flow }: Candidate): boolean {
  return turn.isActive(flow) || turn.input.flows.some((one) => one.id === flow.id);
}

interface Verdict {
  readonly best: number;
  readonly isChosen: boolean;
  readonly isOffered: boolean;
  readonly isFree: boolean;
}

function why({ score, confidence, unexplained, phrase }: Candidate, verdict: Verdict): string {
  const share = `${Math.round(100 * confidence)} %`;
  if (verdict.isChosen) return `Explains ${share} of the message, nearest to "${phrase}".`;
  if (verdict.isOffered) return `As likely as another flow, or asked how it is done.`;
  if (!verdict.isFree) return 'Its guard does not hold.';
  if (confidence < leastConfidence) {
    const words = unexplained.map((word) => `"${word}"`).join(', ');
    const least = `${Math.round(100 * leastConfidence)} %`;
    return `Explains ${share} of the message and needs ${least}${words === '' ? '' : `; it has no word for ${words}`}.`;
  }
  if (score < verdict.best * closeness) {
    return `Scores ${Math.round((100 * score) / verdict.best)} % of the best one.`;
  }
  return 'The message asks about it, denies it, or answers a question instead.';
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
