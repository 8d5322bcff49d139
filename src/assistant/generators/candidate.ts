import type { Flow } from '../model.ts';
import { kindOf, penalties, type WordKind, type WordRole } from './word-roles.ts';
import type { Language } from './words/language.ts';

/** How well a flow matches a message. */
export interface Candidate {
  readonly flow: Flow;
  /** Comparable only within one message. */
  readonly score: number;
  /** The share of the message that the flow's words explain, 0 to 1. */
  readonly confidence: number;
  /** The share of the flow's best phrase that occurs in the message, 0 to 1. */
  readonly phraseCoverage: number;
  /** Number of different words of the message that the flow has. */
  readonly matched: number;
  /** The message is one of the flow's phrases. */
  readonly isExact: boolean;
  /** The message contains one of the flow's phrases, word for word. */
  readonly isContained: boolean;
  /** A common word names the object of the request, not only the action. */
  readonly isTopical: boolean;
  /** The flow's phrase that is closest to the message. */
  readonly phrase: string;
  /** Words of the message that the flow has, and how each one was matched. */
  readonly explained: readonly Explained[];
  /** Words of the message that the flow does not have. */
  readonly unexplained: readonly string[];
}

export interface Explained {
  readonly word: string;
  readonly stem: string;
  readonly by: keyof typeof certainty;
  /** The word names the object of the request, not only the action. */
  readonly isTopic: boolean;
  readonly start: number;
}

export interface Phrase {
  readonly flow: number;
  readonly text: string;
  /** The folded words with a space at each end, to find the phrase in a message. */
  readonly folded: string;
  /** Stems of the words that count, with their weights. */
  readonly stems: ReadonlyMap<string, number>;
  readonly weight: number;
  readonly fillers: readonly string[];
}

export const weights: Readonly<Record<WordKind, number>> = { topic: 1, generic: 0.7, weak: 0.3 };
/** Fillers distinguish phrases that share all other words: "how much money" and "where did my money go". */
const fillerWeight = 0.2;
/** `neighbour`: a synonym of a word that another flow has itself. */
export const certainty = { word: 1, spelling: 0.85, synonym: 0.7, neighbour: 0.4 } as const;

export interface Match {
  readonly stem: string;
  readonly by: keyof typeof certainty;
}

export interface ReadWord {
  readonly folded: string;
  readonly start: number;
  readonly matches: readonly Match[];
  readonly role: WordRole;
  readonly opposites: readonly string[];
  /** A verb that is a noun here: "my order". */
  readonly isThing: boolean;
}

/** The index's data of a flow that is compared with a message. */
export interface ScoredFlow {
  readonly flow: Flow;
  readonly language: Language;
  /** Its stems, and how central each is. */
  readonly stems: ReadonlyMap<string, number>;
  /** It accepts any object: "return an item". */
  readonly takesAny: boolean;
  /** Whether one of its phrases has a stem; the left-out example doesn't count. */
  isSaid(stem: string): boolean;
  /** Whether any flow of the project has a stem. */
  isInProject(stem: string): boolean;
  /** 1 for a stem of a single flow, less the more flows have it. */
  rarity(stem: string): number;
}

/** Scores a flow for the words of a message. `said`: the flow's best phrase. */
export function judgeFlow(scored: ScoredFlow, words: readonly ReadWord[], said: Said): Candidate {
  const { flow, stems, takesAny, language } = scored;
  const explained: Explained[] = [];
  const open: ReadWord[] = [];
  let share = 0;
  let isSure = true;
  let isOpposed = false;
  for (const word of words) {
    // Matches are in order of certainty.
    const match = word.matches.find(({ stem }) => stems.has(stem) && scored.isSaid(stem));
    if (match === undefined) {
      open.push(word);
      // The opposite of a project's word must not match that word's flow.
      isOpposed ||= word.opposites.some((one) =>
        word.matches.length === 0 && word.role !== 'tail'
          ? scored.isInProject(one)
          : stems.has(one),
      );
      continue;
    }
    const kind = word.isThing ? 'topic' : kindOf(match.stem, language);
    const centrality = stems.get(match.stem) ?? 0;
    share += weights[kind] * certainty[match.by] * scored.rarity(match.stem) * centrality;
    isSure &&= certainty[match.by] > certainty.synonym;
    explained.push({
      word: word.folded,
      stem: match.stem,
      by: match.by,
      isTopic: kind === 'topic',
      start: word.start,
    });
  }
  const hasTopic = explained.some((one) => one.isTopic);
  const isOnlyWeak = explained.every((one) => kindOf(one.stem, language) === 'weak');
  let missing = 0;
  for (const { role } of open) {
    const isBeside = role === 'topic' && (hasTopic || takesAny);
    missing += isBeside ? penalties[takesAny ? 'light' : 'besideTopic'] : penalties[role];
  }
  let confidence = share / (share + missing);
  const isExact = isSure && said.coverage >= 0.999 && open.length === 0;
  if (said.isContained && hasTopic) confidence = Math.max(confidence, 0.75);
  // "Book a flight", "add milk to my list": the action matches, the object doesn't.
  if (!hasTopic && !takesAny && open.some((word) => word.role === 'topic')) {
    confidence *= 0.5;
  }
  if (isOnlyWeak && !isExact) confidence *= 0.5;
  // "When do you close?" is about the opening hours, although "close" is the opposite of "open".
  if (isOpposed && !explained.some(({ stem }) => stem === 'hour' || stem === 'when')) {
    confidence *= 0.4;
  }
  const rest = Math.max(0, share - said.points);
  return {
    flow,
    score: said.score + 0.3 * rest,
    confidence,
    phraseCoverage: said.coverage,
    matched: new Set(explained.map((one) => one.stem)).size,
    isExact,
    isContained: said.isContained,
    isTopical: hasTopic,
    phrase: said.phrase,
    explained,
    unexplained: open.map((word) => word.folded),
  };
}

/** A phrase that shares words with the message. */
export interface Hit {
  readonly phrase: Phrase;
  readonly points: number;
  readonly covered: number;
}

/** The message, to compare fillers. */
export interface Spoken {
  /** Folded words with a blank at each end. */
  readonly folded: string;
  readonly words: ReadonlySet<string>;
}

export function judgePhrase({ phrase, points, covered }: Hit, spoken: Spoken): Said {
  const coverage = phrase.weight === 0 ? 0 : covered / phrase.weight;
  const isContained =
    coverage >= 0.999 &&
    phrase.folded.trim().includes(' ') &&
    spoken.folded.includes(phrase.folded);
  const shared = phrase.fillers.filter((word) => spoken.words.has(word)).length;
  const likeness =
    (covered + fillerWeight * shared) / (phrase.weight + fillerWeight * phrase.fillers.length);
  const score = points * (0.5 + 0.5 * likeness) * (isContained ? 1.25 : coverage > 0.84 ? 1.15 : 1);
  return { phrase: phrase.text, score, points, coverage, isContained };
}

/** How much of a phrase a message contains. */
export interface Said {
  readonly phrase: string;
  readonly score: number;
  readonly points: number;
  readonly coverage: number;
  readonly isContained: boolean;
}

/** The better of two phrases of a flow, with the higher coverage of both. */
export function better(one: Said, two: Said): Said {
  const [best, other] = two.score > one.score ? [two, one] : [one, two];
  return {
    ...best,
    coverage: Math.max(best.coverage, other.coverage),
    isContained: best.isContained || other.isContained,
  };
}
