import { oncePer } from '../cache.ts';
import type { Domain, Flow } from '../model.ts';
import { english } from './words/english.ts';
import { addGroup, type Language } from './words/language.ts';
import { Spelling } from './words/spelling.ts';
import {
  type Message,
  overlaps,
  readMessage,
  type Span,
  type Word,
  wordsOf,
} from './words/words.ts';

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

interface Phrase {
  readonly flow: number;
  readonly text: string;
  /** Folded words with a blank at each end, for finding the phrase within a message. */
  readonly folded: string;
  /** Stems of the words that count, with their weights. */
  readonly stems: ReadonlyMap<string, number>;
  readonly weight: number;
  readonly fillers: readonly string[];
}

const weights = { topic: 1, generic: 0.7, weak: 0.3 } as const;
/** Small words tell phrases apart that share the others: "how much money" and "where did my money go". */
const fillerWeight = 0.2;
/** What a word that the flow does not have takes away from its confidence. */
const penalties = {
  topic: 1,
  besideTopic: 0.6,
  /** "I want to buy a table": another thing is done than what the flow does. */
  action: 1.2,
  generic: 0.6,
  light: 0.25,
  weak: 0.2,
  name: 0.2,
  tail: 0.1,
} as const;
/** `neighbour`: a synonym of a word that another flow says itself. */
const certainty = { word: 1, spelling: 0.85, synonym: 0.7, neighbour: 0.4 } as const;
/** "A complaint about a branch": what stands behind a preposition says less about what is wanted. */
const tailCertainty = 0.85;
/** How much a word of a description says about the flow, against 1 for one of its name or examples. */
const described = { main: 0.7, tail: 0.45 } as const;

export interface FlowIndexOptions {
  readonly language?: Language;
  /** Groups of words that mean the same in this project. */
  readonly synonyms?: readonly (readonly string[])[];
  /** More that a flow is found by, beside its name, description and examples. */
  readonly phrasesOf?: (flow: Flow) => readonly string[];
}

/**
 * The names, descriptions and example phrases of flows, searched by words, synonyms and mistyped words.
 * Rare words count more than those of many flows; a flow scores as its best phrase does.
 */
export class FlowIndex {
  readonly #language: Language;
  readonly #synonyms: ReadonlyMap<string, readonly string[]>;
  readonly #flows: readonly Flow[];
  readonly #phrases: Phrase[] = [];
  /** Phrases by the stems in them. */
  readonly #postings = new Map<string, number[]>();
  /** For each flow its stems, and how central each is. */
  readonly #stems: Map<string, number>[] = [];
  /** In how many flows a stem occurs. */
  readonly #flowCounts = new Map<string, number>();
  /** For each flow whether it takes whatever is named: "return an item". */
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
        stems.set(stem, Math.max(stems.get(stem) ?? 0, weights[this.#kindOf(stem)] * centrality));
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

  /** The flows that messages can start, in their order. */
  get flows(): readonly Flow[] {
    return this.#flows;
  }

  /** Stems that mean nearly the same in this project, without the stem itself. */
  synonymsOf(stem: string): readonly string[] {
    return this.#synonyms.get(stem) ?? [];
  }

  /** For sorting flows as the project has them. */
  readonly inOrder = (one: Flow, two: Flow): number =>
    (this.#places.get(one) ?? 0) - (this.#places.get(two) ?? 0);

  /**
   * The flows that share a word with the message, best first; equal ones by their order.
   * @param limit flows to look at closely, those with the most words in common
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
        return this.#candidate(flow, words, best, without);
      })
      .filter((one) => one !== undefined)
      .toSorted(
        (one, two) =>
          Number(two.isExact) - Number(one.isExact) ||
          two.score - one.score ||
          this.inOrder(one.flow, two.flow),
      );
  }

  /** "How much do I have": of small words alone, only a phrase that says the same is meant. */
  #wordForWord(message: Message): Candidate[] {
    const folded = foldedWords(message);
    const phrase = this.#phrases.find((one) => one.folded === folded);
    const flow = this.#flows[phrase?.flow ?? -1];
    if (phrase === undefined || flow === undefined) return [];
    const sure = { score: 1, confidence: 1, phraseCoverage: 1, matched: message.tokens.length };
    const exact = { isExact: true, isContained: true, isTopical: true };
    return [{ flow, ...sure, ...exact, phrase: phrase.text, explained: [], unexplained: [] }];
  }

  /** The flows with the most points in one of their phrases, and the phrases that have some. */
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

  /** Whether a flow, or the one at a place, says a stem. */
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

  #candidate(
    at: number,
    words: readonly ReadWord[],
    said: Said,
    without: WithoutPhrase | undefined,
  ): Candidate | undefined {
    const flow = this.#flows[at];
    const stems = this.#stems[at];
    if (flow === undefined || stems === undefined) return undefined;
    const explained: Explained[] = [];
    const open: ReadWord[] = [];
    let share = 0;
    let isSure = true;
    let isOpposed = false;
    for (const word of words) {
      // The surest come first.
      const match = word.matches.find(
        ({ stem }) => stems.has(stem) && (without === undefined || this.#isSaid(stem, without, at)),
      );
      if (match === undefined) {
        open.push(word);
        // What excludes a word of the project, and no flow does, must not turn into a neighbour of it.
        isOpposed ||= word.opposites.some((one) =>
          word.matches.length === 0 && word.role !== 'tail'
            ? this.#postings.has(one)
            : stems.has(one),
        );
        continue;
      }
      const kind = word.isThing ? 'topic' : this.#kindOf(match.stem);
      const centrality = stems.get(match.stem) ?? 0;
      share += weights[kind] * certainty[match.by] * this.#rarity(match.stem) * centrality;
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
    const isOnlyWeak = explained.every((one) => this.#kindOf(one.stem) === 'weak');
    let missing = 0;
    for (const { role } of open) {
      const isBeside = role === 'topic' && (hasTopic || this.#takesAny[at] === true);
      missing += isBeside
        ? penalties[this.#takesAny[at] === true ? 'light' : 'besideTopic']
        : penalties[role];
    }
    let confidence = share / (share + missing);
    const isExact = isSure && said.coverage >= 0.999 && open.length === 0;
    if (said.isContained && hasTopic) confidence = Math.max(confidence, 0.75);
    // "Book a flight", "add milk to my list": what is done fits, what it is done to does not.
    if (!hasTopic && !this.#takesAny[at] && open.some((word) => word.role === 'topic')) {
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

  #isThing(message: Message, word: Word): boolean {
    if (!this.#language.nouns.has(word.stem)) return false;
    return this.#language.determiners.has(message.tokens[word.at - 1]?.folded ?? '');
  }

  #kindOf(stem: string): keyof typeof weights {
    if (this.#language.weak.has(stem)) return 'weak';
    return this.#language.generic.has(stem) ? 'generic' : 'topic';
  }

  /** 1 for a word of one flow alone, less the more flows have it. */
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
      const matches: Match[] = isOwn ? [{ stem, by }] : [];
      for (const synonym of this.#synonyms.get(stem) ?? []) {
        if (!this.#postings.has(synonym)) continue;
        // Where one flow sends, what another moves is not meant; cash and money are the same in each.
        if (isOwn && this.#kindOf(stem) === 'generic') continue;
        matches.push({ stem: synonym, by: isOwn ? 'neighbour' : 'synonym' });
      }
      const role = isTail ? 'tail' : this.#roleOf(message, word, stem);
      const opposites = this.#language.opposites.get(stem) ?? [];
      const isThing = this.#isThing(message, word);
      words.push({ folded: word.folded, start: word.start, matches, role, opposites, isThing });
    }
    return words;
  }

  /** What is wished, asked for or ordered: "to sell", "can you sell", "sell my". */
  #isVerb({ tokens }: Message, { at, stem }: Word): boolean {
    const { infinitive, auxiliaries, pronouns, light, determiners } = this.#language;
    const before = tokens[at - 1]?.folded ?? '';
    if (light.has(stem)) return false;
    if (infinitive.has(before)) return true;
    if (at === 0) return determiners.has(tokens[1]?.folded ?? '');
    return pronouns.has(before) && auxiliaries.has(tokens[at - 2]?.folded ?? '');
  }

  /** What kind of word it is where a flow does not have it. Names and words beside numbers say little. */
  #roleOf(message: Message, word: Word, stem: string): keyof typeof penalties {
    const kind = this.#kindOf(stem);
    if (kind === 'generic' && this.#isVerb(message, word)) return 'action';
    if (kind !== 'topic') return kind;
    if (this.#language.light.has(stem)) return 'light';
    const text = message.text.slice(word.start, word.end);
    const isName = word.at > 0 && /^\p{Lu}/u.test(text) && !/^\p{Lu}+$/u.test(message.text);
    if (isName) return 'name';
    const isAtNumber =
      /^[\s,$€£]*\d/.test(message.text.slice(word.end)) ||
      /\d\s?$/.test(message.text.slice(0, word.start));
    return isAtNumber ? 'name' : 'topic';
  }
}

/** A phrase that does not count: an example on which the index is tried. */
export interface WithoutPhrase {
  readonly flow: Flow;
  readonly text: string;
}

interface Match {
  readonly stem: string;
  readonly by: keyof typeof certainty;
}

interface ReadWord {
  readonly folded: string;
  readonly start: number;
  readonly matches: readonly Match[];
  readonly role: keyof typeof penalties;
  readonly opposites: readonly string[];
  /** A word of doing that stands for a thing here: "my order". */
  readonly isThing: boolean;
}

export interface RankOptions {
  readonly without?: WithoutPhrase | undefined;
  /** @default 24 */
  readonly limit?: number;
}

/** More flows than that are never close to each other. */
const mostJudged = 24;

/** A phrase with words of the message in it. */
interface Hit {
  readonly phrase: Phrase;
  readonly points: number;
  readonly covered: number;
}

/** The message, for comparing small words. */
interface Spoken {
  /** Folded words with a blank at each end. */
  readonly folded: string;
  readonly words: ReadonlySet<string>;
}

function judgePhrase({ phrase, points, covered }: Hit, spoken: Spoken): Said {
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
interface Said {
  readonly phrase: string;
  readonly score: number;
  readonly points: number;
  readonly coverage: number;
  readonly isContained: boolean;
}

function better(one: Said, two: Said): Said {
  const [best, other] = two.score > one.score ? [two, one] : [one, two];
  return {
    ...best,
    coverage: Math.max(best.coverage, other.coverage),
    isContained: best.isContained || other.isContained,
  };
}

/** Folded words with a blank at each end. */
function foldedWords({ tokens }: Message): string {
  return ` ${tokens.map((token) => token.folded).join(' ')} `;
}

/** Only links and calls lead there. */
function isNeverStarted(flow: Flow): boolean {
  return flow.if !== undefined && /^\s*false\s*$/i.test(flow.if);
}

/** The index of a project's flows, made once. */
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
