import type { Flow } from '../model.ts';
import { kindOf, penalties, type WordKind, type WordRole } from './word-roles.ts';
import type { Language } from './words/language.ts';

/** How well a flow answers to a message. */
export interface Candidate {
  readonly flow: Flow;
  /** Comparable only within one message. */
  readonly score: number;
  /** The share of the message that the flow explains, 0 to 1. */
  readonly confidence: number;
  /** The share of the flow's best phrase that the message says, 0 to 1. */
  readonly phraseCoverage: number;
  /** Different words of the message that the flow has. */
  readonly matched: number;
  /** The message says exactly one of the flow's phrases. */
  readonly isExact: boolean;
  /** One of the flow's phrases stands in the message, word for word. */
  readonly isContained: boolean;
  /** It has a word that says what the request is about, not only what is done. */
  readonly isTopical: boolean;
  /** The phrase of the flow that is nearest to the message. */
  readonly phrase: string;
  /** Words of the message that the flow has, and how each was found. */
  readonly explained: readonly Explained[];
  /** Words of the message that the flow does not have. */
  readonly unexplained: readonly string[];
}

export interface Explained {
  readonly word: string;
  readonly stem: string;
  readonly by: keyof typeof certainty;
  /** Says what the request is about, not only what is done. */
  readonly isTopic: boolean;
  readonly start: number;
}

export interface Phrase {
  readonly flow: number;
  readonly text: string;
  /** Folded words with a blank at each end, for finding the phrase within a message. */
  readonly folded: string;
  /** Stems of the words that count, with their weights. */
  readonly stems: ReadonlyMap<string, number>;
  readonly weight: number;
  readonly fillers: readonly string[];
}

export const weights: Readonly<Record<WordKind, number>> = { topic: 1, generic: 0.7, weak: 0.3 };
/** Small words tell phrases apart that share the others: "how much money" and "where did my money go". */
const fillerWeight = 0.2;
/** `neighbour`: a synonym of a word that another flow says itself. */
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
  /** A word of doing that stands for a thing here: "my order". */
  readonly isThing: boolean;
}

/** What the index knows of a flow that a message is compared with. */
export interface ScoredFlow {
  readonly flow: Flow;
  readonly language: Language;
  /** Its stems, and how central each is. */
  readonly stems: ReadonlyMap<string, number>;
  /** It takes whatever is named: "return an item". */
  readonly takesAny: boolean;
  /** Whether one of its phrases that count says a stem. */
  isSaid(stem: string): boolean;
  /** Whether any flow of the project says a stem. */
  isInProject(stem: string): boolean;
  /** 1 for a stem of one flow alone, less the more flows have it. */
  rarity(stem: string): number;
}

/** How well a flow answers to the words of a message, of which one of its phrases says the most. */
export function judgeFlow(scored: ScoredFlow, words: readonly ReadWord[], said: Said): Candidate {
  const { flow, stems, takesAny, language } = scored;
  const explained: Explained[] = [];
  const open: ReadWord[] = [];
  let share = 0;
  let isSure = true;
  let isOpposed = false;
  for (const word of words) {
    // The surest come first.
    const match = word.matches.find(({ stem }) => stems.has(stem) && scored.isSaid(stem));
    if (match === undefined) {
      open.push(word);
      // What excludes a word of the project, and no flow does, must not turn into a neighbour of it.
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
  // "Book a flight", "add milk to my list": what is done fits, what it is done to does not.
  if (!hasTopic && !takesAny && open.some((word) => word.role === 'topic')) {
    confidence *= 0.5;
  }
  if (isOnlyWeak && !isExact) confidence *= 0.5;
  // "When do you close?" is about the hours, whether one opens or closes.
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

/** A phrase with words of the message in it. */
export interface Hit {
  readonly phrase: Phrase;
  readonly points: number;
  readonly covered: number;
}

/** The message, for comparing small words. */
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

/** What a message says of a phrase. */
export interface Said {
  readonly phrase: string;
  readonly score: number;
  readonly points: number;
  readonly coverage: number;
  readonly isContained: boolean;
}

/** The better of two phrases of a flow, with the most that either says. */
export function better(one: Said, two: Said): Said {
  const [best, other] = two.score > one.score ? [two, one] : [one, two];
  return {
    ...best,
    coverage: Math.max(best.coverage, other.coverage),
    isContained: best.isContained || other.isContained,
  };
}
