import { oncePer } from '../once-per.ts';
import type { Domain, Flow } from '../model.ts';
import {
  better,
  type Candidate,
  certainty,
  type Hit,
  judgeFlow,
  judgePhrase,
  type Match,
  type Phrase,
  type ReadWord,
  type ScoredFlow,
  type Spoken,
  weights,
} from './candidate.ts';
import { isThing, kindOf, roleOf } from './word-roles.ts';
import { addGroup, english, type Language } from './words/language.ts';
import { Spelling } from './words/spelling.ts';
import { type Message, overlaps, readMessage, type Span, wordsOf } from './words/words.ts';

/** "A complaint about a branch": words after a preposition tell less about what is wanted. */
const tailCertainty = 0.85;
/** Weight of a word in the description, relative to 1 for words of the name and the examples. */
const described = { main: 0.7, tail: 0.45 } as const;

export interface FlowIndexOptions {
  readonly language?: Language;
  /** Groups of words with the same meaning in this project. */
  readonly synonyms?: readonly (readonly string[])[];
  /** Further phrases of a flow, in addition to its name, description and examples. */
  readonly phrasesOf?: (flow: Flow) => readonly string[];
}

/**
 * Index of the names, descriptions and example phrases of flows, searched by words, synonyms and mistyped
 * words. Rare words weigh more than words of many flows. A flow has the score of its best phrase.
 */
export class FlowIndex {
  readonly #language: Language;
  readonly #synonyms: ReadonlyMap<string, readonly string[]>;
  readonly #flows: readonly Flow[];
  readonly #phrases: Phrase[] = [];
  /** Ids of phrases, keyed by stem. */
  readonly #postings = new Map<string, number[]>();
  /** For each flow its stems and how central each is. */
  readonly #stems: Map<string, number>[] = [];
  /** The number of flows with a stem. */
  readonly #flowCounts = new Map<string, number>();
  /** For each flow whether it accepts any object: "return an item". */
  readonly #takesAny: boolean[] = [];
  readonly #rarities = new Map<string, number>();
  readonly #places: ReadonlyMap<Flow, number>;
  readonly spelling: Spelling;

  constructor(flows: Iterable<Flow>, options: FlowIndexOptions = {}) {
    const { language = english, synonyms = [], phrasesOf = () => [] } = options;
    this.#language = language;
    const groups = new Map(language.synonyms);
    const own = new Set<string>();
    for (const group of synonyms) {
      const words = group.map((one) => wordsOf(readMessage(one, language))[0]);
      for (const word of words) if (word !== undefined) own.add(word.folded);
      addGroup(
        groups,
        words.flatMap((word) => word?.stem ?? []),
      );
    }
    this.#synonyms = groups;
    this.#flows = [...flows].filter((flow) => !flow.isPattern && !isNeverStarted(flow));
    this.#places = new Map(this.#flows.map((flow, at) => [flow, at]));
    for (const [at, flow] of this.#flows.entries()) this.#add(at, flow, phrasesOf(flow), own);
    this.spelling = new Spelling(own, language);
  }

  #add(at: number, flow: Flow, more: readonly string[], own: Set<string>): void {
    const central = [flow.name, flow.id.replaceAll(/[_-]+/g, ' '), ...flow.examples];
    const ofFlow = new Map<string, number>();
    this.#stems[at] = ofFlow;
    for (const text of new Set([...central, flow.description, ...more])) {
      const message = readMessage(text, this.#language);
      const all = wordsOf(message);
      const content = all.filter((word) => word.isContent);
      const words = content.length > 0 ? content : all;
      this.#takesAny[at] ||= all.some((word) => this.#language.anything.has(word.folded));
      if (words.length === 0) continue;
      const isCentral = central.includes(text);
      const tail = all.find(
        (word) => word.at > 0 && this.#language.prepositions.has(word.folded),
      )?.start;
      const stems = new Map<string, number>();
      for (const { stem, folded, start } of words) {
        const centrality = isCentral
          ? 1
          : start > (tail ?? Infinity)
            ? described.tail
            : described.main;
        stems.set(
          stem,
          Math.max(stems.get(stem) ?? 0, weights[kindOf(stem, this.#language)] * centrality),
        );
        ofFlow.set(stem, Math.max(ofFlow.get(stem) ?? 0, centrality));
        own.add(folded);
      }
      const weight = stems.values().reduce((sum, one) => sum + one, 0);
      const folded = foldedWords(message);
      const fillers = all.filter((word) => !words.includes(word)).map((word) => word.folded);
      const id = this.#phrases.push({ flow: at, text, folded, stems, weight, fillers }) - 1;
      for (const stem of stems.keys()) {
        const known = this.#postings.get(stem);
        if (known === undefined) this.#postings.set(stem, [id]);
        else known.push(id);
      }
    }
    for (const one of ofFlow.keys()) {
      this.#flowCounts.set(one, (this.#flowCounts.get(one) ?? 0) + 1);
    }
  }

  /** The flows that messages can start, in the order of the project. */
  get flows(): readonly Flow[] {
    return this.#flows;
  }

  /** Synonyms of a stem in this project, without the stem itself. */
  synonymsOf(stem: string): readonly string[] {
    return this.#synonyms.get(stem) ?? [];
  }

  /** Compares flows by their order in the project. */
  readonly inOrder = (one: Flow, two: Flow): number =>
    (this.#places.get(one) ?? 0) - (this.#places.get(two) ?? 0);

  /**
   * The flows that share a word with the message, best first; equally good ones in the order of the
   * project.
   * @param limit maximum number of flows that are judged: those with the most words in common
   */
  rank(
    message: Message,
    ignored: readonly Span[] = [],
    { without, limit = mostJudged }: RankOptions = {},
  ): Candidate[] {
    const words = this.#read(message, ignored, without);
    if (words.length === 0) return this.#wordForWord(message);
    const sure = new Map<string, number>();
    for (const { matches, role } of words) {
      for (const { stem, by } of matches) {
        const certain = certainty[by] * (role === 'tail' ? tailCertainty : 1);
        sure.set(stem, Math.max(sure.get(stem) ?? 0, certain));
      }
    }
    const spoken = message.tokens.map((token) => token.folded);
    const said: Spoken = { folded: ` ${spoken.join(' ')} `, words: new Set(spoken) };
    return this.#mostShared(sure, without, limit)
      .map(({ flow, hits }) => {
        const best = hits.map((hit) => judgePhrase(hit, said)).reduce(better);
        const scored = this.#scored(flow, without);
        return scored === undefined ? undefined : judgeFlow(scored, words, best);
      })
      .filter((one) => one !== undefined)
      .toSorted(
        (one, two) =>
          Number(two.isExact) - Number(one.isExact) ||
          two.score - one.score ||
          this.inOrder(one.flow, two.flow),
      );
  }

  /** "How much do I have": a message of fillers only matches a phrase word for word. */
  #wordForWord(message: Message): Candidate[] {
    const folded = foldedWords(message);
    const phrase = this.#phrases.find((one) => one.folded === folded);
    const flow = this.#flows[phrase?.flow ?? -1];
    if (phrase === undefined || flow === undefined) return [];
    const sure = { score: 1, confidence: 1, phraseCoverage: 1, matched: message.tokens.length };
    const exact = { isExact: true, isContained: true, isTopical: true };
    return [{ flow, ...sure, ...exact, phrase: phrase.text, explained: [], unexplained: [] }];
  }

  /** The flows with the most points in one phrase, and their matching phrases. */
  #mostShared(
    sure: ReadonlyMap<string, number>,
    without: WithoutPhrase | undefined,
    limit: number,
  ): { readonly flow: number; readonly hits: readonly Hit[] }[] {
    const hits = new Map<number, { phrase: Phrase; points: number; covered: number }>();
    for (const [stem, certain] of sure) {
      const rarity = this.#rarity(stem);
      for (const id of this.#postings.get(stem) ?? []) {
        const phrase = this.#phrases[id];
        if (phrase === undefined || this.#isLeftOut(phrase, without)) continue;
        const weight = phrase.stems.get(stem) ?? 0;
        const covered = weight * (certain <= certainty.synonym ? 0.85 : 1);
        const hit = hits.get(id);
        if (hit === undefined) {
          hits.set(id, { phrase, points: weight * certain * rarity, covered });
        } else {
          hit.points += weight * certain * rarity;
          hit.covered += covered;
        }
      }
    }
    const flows = new Map<number, { flow: number; most: number; hits: Hit[] }>();
    for (const hit of hits.values()) {
      const { flow } = hit.phrase;
      const entry = flows.get(flow);
      if (entry === undefined) flows.set(flow, { flow, most: hit.points, hits: [hit] });
      else {
        entry.hits.push(hit);
        if (hit.points > entry.most) entry.most = hit.points;
      }
    }
    const shared = [...flows.values()];
    if (shared.length <= limit) return shared;
    return shared.toSorted((one, two) => two.most - one.most).slice(0, limit);
  }

  /** Whether any flow, or the flow at index `at`, has a stem. */
  #isSaid(stem: string, without: WithoutPhrase | undefined, at?: number): boolean {
    const ids = this.#postings.get(stem) ?? [];
    if (without === undefined && at === undefined) return ids.length > 0;
    return ids.some((id) => {
      const phrase = this.#phrases[id];
      const isThere = phrase !== undefined && (at === undefined || phrase.flow === at);
      return isThere && !this.#isLeftOut(phrase, without);
    });
  }

  #isLeftOut(phrase: Phrase, without: WithoutPhrase | undefined): boolean {
    return without?.text === phrase.text && this.#flows[phrase.flow] === without.flow;
  }

  #scored(at: number, without: WithoutPhrase | undefined): ScoredFlow | undefined {
    const flow = this.#flows[at];
    const stems = this.#stems[at];
    if (flow === undefined || stems === undefined) return undefined;
    return {
      flow,
      language: this.#language,
      stems,
      takesAny: this.#takesAny[at] === true,
      isSaid: (stem) => without === undefined || this.#isSaid(stem, without, at),
      isInProject: (stem) => this.#postings.has(stem),
      rarity: (stem) => this.#rarity(stem),
    };
  }

  /** 1 for a word of a single flow, less the more flows have it. */
  #rarity(stem: string): number {
    const known = this.#rarities.get(stem);
    if (known !== undefined) return known;
    const all = this.#flows.length;
    const specificity = Math.log(1 + all / (this.#flowCounts.get(stem) ?? 1)) / Math.log(1 + all);
    const rarity = 0.4 + 0.6 * specificity;
    if (this.#flowCounts.has(stem)) this.#rarities.set(stem, rarity);
    return rarity;
  }

  #read(
    message: Message,
    ignored: readonly Span[],
    without: WithoutPhrase | undefined,
  ): ReadWord[] {
    const words: ReadWord[] = [];
    let isTail = false;
    for (const word of wordsOf(message)) {
      if (words.length > 0 && this.#language.prepositions.has(word.folded)) isTail = true;
      if (word.folded === 'and') isTail = false;
      if (!word.isContent || ignored.some((span) => overlaps(word, span))) continue;
      const corrected = this.spelling.correct(word.folded);
      if (corrected !== undefined && this.#language.fillers.has(corrected)) continue;
      const stem = corrected === undefined ? word.stem : this.#language.stem(corrected);
      const by = corrected === undefined ? 'word' : 'spelling';
      const isOwn = this.#isSaid(stem, without);
      const opposites = this.#language.opposites.get(stem) ?? [];
      const matches: Match[] = isOwn ? [{ stem, by }] : [];
      for (const synonym of this.#synonyms.get(stem) ?? []) {
        if (!this.#postings.has(synonym) || opposites.includes(synonym)) continue;
        // No synonyms for a verb that a flow has itself: "send" must not match the "move" of another
        // flow. Nouns such as cash and money match each other everywhere.
        if (isOwn && kindOf(stem, this.#language) === 'generic') continue;
        matches.push({ stem: synonym, by: isOwn ? 'neighbour' : 'synonym' });
      }
      const role = isTail ? 'tail' : roleOf(message, word, stem);
      words.push({
        folded: word.folded,
        start: word.start,
        matches,
        role,
        opposites,
        isThing: isThing(message, word),
      });
    }
    return words;
  }
}

/** A phrase to ignore: the example that cross-validation leaves out. */
export interface WithoutPhrase {
  readonly flow: Flow;
  readonly text: string;
}

export interface RankOptions {
  readonly without?: WithoutPhrase | undefined;
  /** @default 24 */
  readonly limit?: number;
}

/** The default limit of judged flows: more are never close to each other. */
const mostJudged = 24;

/** The folded words, with a space at each end. */
function foldedWords({ tokens }: Message): string {
  return ` ${tokens.map((token) => token.folded).join(' ')} `;
}

/** Whether only links and calls can start the flow. */
function isNeverStarted(flow: Flow): boolean {
  return flow.if !== undefined && /^\s*false\s*$/i.test(flow.if);
}

/** The index of a project's flows, built once. */
export function flowIndexOf(
  flows: ReadonlyMap<string, Flow>,
  domain: Domain,
  language: Language = english,
): FlowIndex {
  return indexes(flows)(domain)(language);
}

const indexes = oncePer((flows: ReadonlyMap<string, Flow>) =>
  oncePer((domain: Domain) =>
    oncePer(
      (language: Language) =>
        new FlowIndex(flows.values(), { language, synonyms: domain.synonyms ?? [] }),
    ),
  ),
);
