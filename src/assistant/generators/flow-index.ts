import MiniSearch from 'minisearch';
import { oncePer } from '../cache.ts';
import type { Flow } from '../model.ts';
import {
  allowedMistakes,
  type Message,
  messageOf,
  overlaps,
  prepositions,
  type Span,
  synonymsOf,
  type Token,
  weakWords,
} from './words/words.ts';

/** How well a flow answers to a message. */
export interface Candidate {
  readonly flow: Flow;
  /** BM25 of the flow's best phrase; comparable only within one message. */
  readonly score: number;
  /** The share of the message that the flow explains, 0 to 1. */
  readonly confidence: number;
  /** The share of the flow's best phrase that the message says, 0 to 1. */
  readonly phraseCoverage: number;
  /** Different words of the message that the flow has. */
  readonly matched: number;
  /** The message says exactly one of the flow's phrases. */
  readonly isExact: boolean;
}

interface Phrase {
  readonly flow: Flow;
  /** Stems of the words that count. */
  readonly stems: readonly string[];
}

/** What a word that no flow knows takes away, against 1 that a word of one flow alone gives. */
const unknownWeight = 1;
const weakWeight = 0.3;
const synonymWeight = 0.6;

/**
 * The names, descriptions and example phrases of flows, searched by BM25. Each phrase is a document
 * of its own, so that ten examples do not make each of them weaker; a flow scores as its best one.
 */
export class FlowIndex {
  readonly #phrases: Phrase[] = [];
  readonly #search: MiniSearch<{ id: number; text: string }>;
  /** In how many flows a stem occurs. */
  readonly #flowCounts = new Map<string, number>();
  readonly #flows: readonly Flow[];

  /** @param phrasesOf more that a flow is found by, beside its name, description and examples */
  constructor(flows: Iterable<Flow>, phrasesOf: (flow: Flow) => readonly string[] = () => []) {
    this.#flows = [...flows].filter((flow) => !flow.isPattern && !isNeverStarted(flow));
    this.#search = new MiniSearch({
      fields: ['text'],
      tokenize: (text) => text.split(' '),
      processTerm: (term) => term,
    });
    for (const flow of this.#flows) this.#add(flow, phrasesOf(flow));
  }

  #add(flow: Flow, phrases: readonly string[]): void {
    const texts = new Set([
      flow.name,
      flow.id.replaceAll(/[_-]+/g, ' '),
      flow.description,
      ...flow.examples,
      ...phrases,
    ]);
    const ofFlow = new Set<string>();
    for (const text of texts) {
      const stems = phraseStems(messageOf(text));
      if (stems.length === 0) continue;
      const id = this.#phrases.push({ flow, stems }) - 1;
      this.#search.add({ id, text: stems.join(' ') });
      for (const one of stems) ofFlow.add(one);
    }
    for (const one of ofFlow) this.#flowCounts.set(one, (this.#flowCounts.get(one) ?? 0) + 1);
  }

  /** The flows that share a word with the message, best first; equal ones by their order. */
  rank(message: Message, ignored: readonly Span[] = []): Candidate[] {
    const words = this.#wordsOf(message, ignored);
    if (words.length === 0) return [];
    const origins = new Map<string, Set<string>>();
    const remember = (term: string, from: string): void => {
      const known = origins.get(term);
      if (known === undefined) origins.set(term, new Set([from]));
      else known.add(from);
    };
    const synonyms = new Set<string>();
    for (const { stem } of words) {
      remember(stem, stem);
      for (const synonym of this.#flowCounts.has(stem) ? [] : synonymsOf(stem)) {
        remember(synonym, stem);
        synonyms.add(synonym);
      }
    }
    const results = this.#search.search({
      combineWith: 'OR',
      queries: [
        {
          queries: [[...new Set(words.map((word) => word.stem))].join(' ')],
          fuzzy: (term: string) => (this.#flowCounts.has(term) ? false : mistakes(term)),
          boostTerm: (term: string) => (weakWords.has(term) ? weakWeight : 1),
        },
        ...(synonyms.size > 0
          ? [{ queries: [[...synonyms].join(' ')], boostTerm: () => synonymWeight }]
          : []),
      ],
    });

    const best = new Map<Flow, { score: number; said: Set<string>; coverage: number }>();
    for (const { id, score, queryTerms, terms } of results) {
      const phrase = this.#phrases[id as number];
      if (phrase === undefined) continue;
      const entry = best.get(phrase.flow) ?? { score: 0, said: new Set<string>(), coverage: 0 };
      best.set(phrase.flow, entry);
      entry.score = Math.max(entry.score, score);
      entry.coverage = Math.max(entry.coverage, coverageOf(phrase.stems, new Set(terms)));
      for (const term of queryTerms) {
        for (const from of origins.get(term) ?? []) entry.said.add(from);
      }
    }
    return this.#flows
      .flatMap((flow) => {
        const entry = best.get(flow);
        if (entry === undefined) return [];
        const { share, isOnlyWeak } = this.#explained(words, entry.said);
        const { score, coverage } = entry;
        const confidence = isOnlyWeak ? share / 2 : share;
        const isExact = coverage >= 0.999 && share >= 0.999;
        return [
          { flow, score, confidence, phraseCoverage: coverage, matched: entry.said.size, isExact },
        ];
      })
      .toSorted((one, two) => Number(two.isExact) - Number(one.isExact) || two.score - one.score);
  }

  /** The share of the words that was said, and whether they are all words of every request. */
  #explained(
    words: readonly Word[],
    said: ReadonlySet<string>,
  ): { readonly share: number; readonly isOnlyWeak: boolean } {
    let explained = 0;
    let open = 0;
    let isOnlyWeak = true;
    for (const word of words) {
      if (said.has(word.stem)) {
        explained += this.#specificity(word.stem);
        if (!weakWords.has(word.stem)) isOnlyWeak = false;
      } else {
        open += word.penalty;
      }
    }
    return { share: explained === 0 ? 0 : explained / (explained + open), isOnlyWeak };
  }

  /** 1 for a word of one flow alone, less the more flows have it; words found by kinship count 1. */
  #specificity(stem: string): number {
    const count = this.#flowCounts.get(stem);
    if (count === undefined) return 1;
    const all = this.#flows.length;
    return Math.log(1 + all / count) / Math.log(1 + all);
  }

  #wordsOf(message: Message, ignored: readonly Span[]): Word[] {
    const words: Word[] = [];
    let isTail = false;
    for (const [index, token] of message.tokens.entries()) {
      if (words.length > 0 && prepositions.has(token.folded)) isTail = true;
      if (token.folded === 'and') isTail = false;
      if (!token.isContent || ignored.some((span) => overlaps(token, span))) continue;
      words.push({ stem: token.stem, penalty: isTail ? 0 : this.#penalty(message, index, token) });
    }
    return words;
  }

  /** What the word takes away when no flow explains it. Names and what stands at a number do not. */
  #penalty(message: Message, index: number, token: Token): number {
    if (weakWords.has(token.stem)) return weakWeight;
    const isName = index > 0 && /^\p{Lu}/u.test(token.text) && !/^\p{Lu}+$/u.test(message.text);
    if (isName) return 0.2;
    const isAtNumber =
      /^[\s,$€£]*\d/.test(message.text.slice(token.end)) ||
      /\d\s?$/.test(message.text.slice(0, token.start));
    return isAtNumber ? 0.2 : unknownWeight;
  }
}

interface Word {
  readonly stem: string;
  readonly penalty: number;
}

/** Only links and calls lead there. */
function isNeverStarted(flow: Flow): boolean {
  return flow.if !== undefined && /^\s*false\s*$/i.test(flow.if);
}

/** The stems that count; of a phrase of fillers ("help me") all. */
function phraseStems(message: Message): string[] {
  const content = message.tokens.filter((token) => token.isContent);
  return [...new Set((content.length > 0 ? content : message.tokens).map((token) => token.stem))];
}

function coverageOf(stems: readonly string[], said: ReadonlySet<string>): number {
  const weight = (stem: string): number => (weakWords.has(stem) ? weakWeight : 1);
  let all = 0;
  let covered = 0;
  for (const one of stems) {
    all += weight(one);
    if (said.has(one)) covered += weight(one);
  }
  return all === 0 ? 0 : covered / all;
}

function mistakes(term: string): number | false {
  const allowed = allowedMistakes(term.length + 1);
  return allowed === 0 || term.length < 5 ? false : Math.min(allowed, term.length < 7 ? 1 : 2);
}

/** The index of a project's flows, made once. */
export const flowIndexOf = oncePer(
  (flows: ReadonlyMap<string, Flow>) => new FlowIndex(flows.values()),
);
