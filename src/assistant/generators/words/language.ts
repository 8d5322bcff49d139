import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Glossed, glossOf, glossSchema } from './gloss.ts';

/** What the matching of flows knows of a language: lists of words in a YAML file, data only. */
const dataSchema = z.object({
  /** Words that say nothing about what is wanted. */
  fillers: z.string(),
  /** Words of many requests, whatever they are about: missing one says little. */
  weak: z.string(),
  /**
   * What can be done to anything, and the states that anything can be in: a request needs another word
   * that says what it is about, unless it names nothing else.
   */
  generic: z.string(),
  /** Generic words that are a thing after a determiner: "my order". */
  nouns: z.string().default(''),
  /** Words before a noun. */
  determiners: z.string().default(''),
  /** Words for any thing: a flow that says one takes whatever is named. */
  anything: z.string().default(''),
  /** Everyday words beside a request that take little away from it. */
  light: z.string(),
  /** Words that open a place, a person or a reason: what follows is about the request, not the request. */
  prepositions: z.string().default(''),
  /** What stands before the verb of a wish: "I want to buy". */
  infinitive: z.string().default(''),
  /** With a pronoun after it, what stands before the verb of a request: "can you sell". */
  auxiliaries: z.string().default(''),
  pronouns: z.string().default(''),
  /** Verbs of what happens to people, not of what they do: "I lost it" asks for help, "I paid it" does not. */
  happenings: z.string().default(''),
  /** Forms of the past that don't end like one: "paid", "sent". */
  past: z.string().default(''),
  /** Words that mean nearly the same, a group a line. */
  synonyms: z.string(),
  /** Words that exclude each other: `one / other`, a pair a line; each side may have several. */
  opposites: z.string(),
  /** Several words that count as one: `log in: login`, one a line. */
  compounds: z.string(),
  /** Forms that the stem does not show: `lose: lost losing`, one a line; spellings, too. */
  forms: z.string(),
  /** Words whose end is no ending, which would else become another word: "comment", "plane". */
  whole: z.string(),
  /** Short common words that are not a mistyped other word. */
  common: z.string(),
  /** Of the first that fits: what a plural ends with, and what it is replaced by. */
  plurals: z.array(z.tuple([z.string(), z.string()])),
  /** Ends of words that make forms of the same word, each with the least number of letters before it. */
  endings: z.array(z.tuple([z.string(), z.number()])),
  /** The file of a language whose fillers and prepositions count, too: those that a gloss leads to. */
  base: z.string().optional(),
  ...glossSchema.shape,
});
type WordData = z.infer<typeof dataSchema>;

/** A language, ready for use. */
export interface Language {
  readonly fillers: ReadonlySet<string>;
  readonly weak: ReadonlySet<string>;
  readonly generic: ReadonlySet<string>;
  readonly nouns: ReadonlySet<string>;
  readonly determiners: ReadonlySet<string>;
  readonly anything: ReadonlySet<string>;
  readonly light: ReadonlySet<string>;
  readonly prepositions: ReadonlySet<string>;
  readonly infinitive: ReadonlySet<string>;
  readonly auxiliaries: ReadonlySet<string>;
  readonly pronouns: ReadonlySet<string>;
  readonly happenings: ReadonlySet<string>;
  readonly past: ReadonlySet<string>;
  /** Stems that mean nearly the same as a stem, without itself. */
  readonly synonyms: ReadonlyMap<string, readonly string[]>;
  readonly opposites: ReadonlyMap<string, readonly string[]>;
  /** By their first word: the words that follow, and what they stand for together. */
  readonly compounds: ReadonlyMap<string, readonly Compound[]>;
  /** Every word that is spelled right: none of them is a typing mistake. */
  readonly known: ReadonlySet<string>;
  stem(word: string): string;
  /** A text with what the language has a gloss for in English; undefined for a language without one. */
  readonly gloss: ((text: string) => Glossed) | undefined;
}

export interface Compound {
  readonly rest: readonly string[];
  readonly stem: string;
}

/** Reads the file of a language beside this one. */
function readLanguage(file: string): Language {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  const own = dataSchema.parse(parse(text));
  const base = own.base === undefined ? undefined : readLanguage(own.base);
  const data = base === undefined ? own : withBase(own, base);
  const forms = new Map(
    lines(data.forms).flatMap((line) => {
      const [base = '', others = ''] = line.split(':');
      return wordsIn(others).map((other) => [other, base.trim()] as const);
    }),
  );
  const whole = new Set(wordsIn(data.whole));
  const plurals = data.plurals.map(([from, to]) => [new RegExp(from, 'u'), to] as const);
  const singular = (word: string): string => {
    const rule = plurals.find(([from]) => from.test(word));
    return rule === undefined ? word : word.replace(...rule);
  };
  const stems = new Map<string, string>();
  const stem = (word: string): string => {
    const known = stems.get(word);
    if (known !== undefined) return known;
    const base = singular((forms.get(word) ?? word).replace(/'s?$/, ''));
    const made = whole.has(base) ? base : stemOf(base, data);
    if (stems.size < 20_000) stems.set(word, made);
    return made;
  };
  const stemSet = (text: string): ReadonlySet<string> => new Set(wordsIn(text).map(stem));
  const compounds = new Map<string, Compound[]>();
  for (const line of lines(data.compounds)) {
    const [phrases = '', word = ''] = line.split(':');
    for (const phrase of phrases.split(',')) {
      const [first = '', ...rest] = wordsIn(phrase);
      const entry = { rest, stem: stem(word.trim()) };
      compounds.set(first, [...(compounds.get(first) ?? []), entry]);
    }
  }
  const synonyms = new Map<string, readonly string[]>();
  for (const line of lines(data.synonyms)) addGroup(synonyms, wordsIn(line).map(stem));
  const opposites = new Map<string, readonly string[]>();
  for (const line of lines(data.opposites)) {
    const [one = [], two = []] = line.split('/').map((side) => wordsIn(side).map(stem));
    for (const word of one) opposites.set(word, [...(opposites.get(word) ?? []), ...two]);
    for (const word of two) opposites.set(word, [...(opposites.get(word) ?? []), ...one]);
  }
  const { fillers, weak, generic, light, prepositions, common } = data;
  const known = new Set(
    [fillers, weak, generic, light, prepositions, common, data.synonyms, data.opposites]
      .flatMap((text) => wordsIn(text.replaceAll('/', ' ')))
      .concat([...forms.keys()], [...forms.values()]),
  );
  return {
    fillers: new Set(wordsIn(fillers)),
    weak: stemSet(weak),
    generic: stemSet(generic),
    nouns: stemSet(data.nouns),
    determiners: new Set(wordsIn(data.determiners)),
    anything: new Set(wordsIn(data.anything)),
    light: stemSet(light),
    prepositions: new Set(wordsIn(prepositions)),
    infinitive: new Set(wordsIn(data.infinitive)),
    auxiliaries: new Set(wordsIn(data.auxiliaries)),
    pronouns: new Set(wordsIn(data.pronouns)),
    happenings: stemSet(data.happenings),
    past: new Set(wordsIn(data.past)),
    synonyms,
    opposites,
    compounds,
    known,
    stem,
    gloss: glossOf(data),
  };
}

/** The small words of another language in front of a language's own. */
function withBase(data: WordData, base: Language): WordData {
  return {
    ...data,
    fillers: `${[...base.fillers].join(' ')} ${data.fillers}`,
    prepositions: `${[...base.prepositions].join(' ')} ${data.prepositions}`,
    weak: `${[...base.weak].join(' ')} ${data.weak}`,
    infinitive: `${[...base.infinitive].join(' ')} ${data.infinitive}`,
    auxiliaries: `${[...base.auxiliaries].join(' ')} ${data.auxiliaries}`,
    pronouns: `${[...base.pronouns].join(' ')} ${data.pronouns}`,
  };
}

/** Each word of a group stands for every other. */
export function addGroup(synonyms: Map<string, readonly string[]>, group: readonly string[]): void {
  for (const one of group) {
    const others = group.filter((other) => other !== one);
    synonyms.set(one, [...new Set([...(synonyms.get(one) ?? []), ...others])]);
  }
}

/**
 * What the forms of a word share, near enough for comparing: "transfers", "transferring" and
 * "transferred" become "transfer". Stems are for comparing only, never for showing.
 */
function stemOf(base: string, { endings }: WordData): string {
  let root = base;
  for (const [ending, shortest] of endings) {
    if (!root.endsWith(ending) || root.length - ending.length < shortest) continue;
    root = root.slice(0, -ending.length);
    // cancelling, transferred, booking: a doubled consonant belongs to the ending.
    if (/([bdfgklmnprt])\1$/.test(root)) root = root.slice(0, -1);
    break;
  }
  return root.length > 3 && root.endsWith('e') ? root.slice(0, -1) : root;
}

function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** British and American English. */
export const english = readLanguage('english.yml');

/** The files of the languages beside English, by code. A further language is a further file. */
const files: Readonly<Record<string, string>> = { de: 'german.yml' };
const read = new Map<string, Language>();

/** The language of a code such as `de` or `de-AT`; English for those that have no file. */
export function languageFor(code: string | undefined): Language {
  const short = (code ?? 'en').toLowerCase().slice(0, 2);
  const file = files[short];
  if (file === undefined) return english;
  const known = read.get(short) ?? readLanguage(file);
  read.set(short, known);
  return known;
}
