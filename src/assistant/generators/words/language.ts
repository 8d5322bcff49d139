import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Glossed, glossOf, glossSchema } from './gloss.ts';

/** The language data of the matching generator: lists of words in a YAML file. */
const dataSchema = z.object({
  /** Words that don't tell what is wanted. */
  fillers: z.string(),
  /** Words of many kinds of requests: a missing one counts little. */
  weak: z.string(),
  /**
   * Actions that apply to any object, and states that any object can have. A flow that matches only such
   * words loses confidence if the request names an object.
   */
  generic: z.string(),
  /** Generic words that are nouns after a determiner: "my order". */
  nouns: z.string().default(''),
  /** Words before a noun. */
  determiners: z.string().default(''),
  /** Words for any object: a flow with such a word accepts all objects. */
  anything: z.string().default(''),
  /** Everyday words that often accompany a request; they reduce its confidence little. */
  light: z.string(),
  /** Words before a place, a person or a reason: the words after them are details of the request. */
  prepositions: z.string().default(''),
  /** Words before the verb of a wish: "I want to buy". */
  infinitive: z.string().default(''),
  /** Words that, with a pronoun, precede the verb of a request: "can you sell". */
  auxiliaries: z.string().default(''),
  pronouns: z.string().default(''),
  /**
   * Verbs for things that happen to people, not for what they do: "I lost it" asks for help, "I paid it"
   * doesn't.
   */
  happenings: z.string().default(''),
  /** Irregular past forms: "paid", "sent". */
  past: z.string().default(''),
  /** Synonyms, one group per line. */
  synonyms: z.string(),
  /** Opposites: `one / other`, one pair per line; each side can have several words. */
  opposites: z.string(),
  /** Several words that count as one: `log in: login`, one per line. */
  compounds: z.string(),
  /** Irregular forms: `lose: lost losing`, one per line; spelling variants, too. */
  forms: z.string(),
  /** Words that must not be stemmed, because the result is another word: "comment", "plane". */
  whole: z.string(),
  /** Short common words that must not be treated as typos. */
  common: z.string(),
  /** Plural endings and their replacements; the first match applies. */
  plurals: z.array(z.tuple([z.string(), z.string()])),
  /** Inflectional endings, each with the minimum number of letters before it. */
  endings: z.array(z.tuple([z.string(), z.number()])),
  /** The file of a base language whose function words also count: those that a gloss produces. */
  base: z.string().optional(),
  ...glossSchema.shape,
});
type WordData = z.infer<typeof dataSchema>;

/** A language, compiled from its file. */
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
  /** Synonyms of a stem, without the stem itself. */
  readonly synonyms: ReadonlyMap<string, readonly string[]>;
  readonly opposites: ReadonlyMap<string, readonly string[]>;
  /** Keyed by their first word: the following words, and the stem of the compound. */
  readonly compounds: ReadonlyMap<string, readonly Compound[]>;
  /** All known words: none of them is a typo. */
  readonly known: ReadonlySet<string>;
  stem(word: string): string;
  /** Translates the glossed parts of a text to English; undefined for a language without a gloss. */
  readonly gloss: ((text: string) => Glossed) | undefined;
}

export interface Compound {
  readonly rest: readonly string[];
  readonly stem: string;
}

/** Reads a language file from this folder. */
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

/** Adds the function words of a base language to those of a language. */
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

/** Makes all words of a group synonyms of each other. */
export function addGroup(synonyms: Map<string, readonly string[]>, group: readonly string[]): void {
  for (const one of group) {
    const others = group.filter((other) => other !== one);
    synonyms.set(one, [...new Set([...(synonyms.get(one) ?? []), ...others])]);
  }
}

/**
 * The stem that the forms of a word share: "transfers", "transferring" and "transferred" become
 * "transfer". Stems are only for comparison, never shown.
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

/** The files of languages other than English, keyed by code. */
const files: Readonly<Record<string, string>> = { de: 'german.yml' };
const read = new Map<string, Language>();

/** The language of a code such as `de` or `de-AT`; English for codes without a file. */
export function languageFor(code: string | undefined): Language {
  const short = (code ?? 'en').toLowerCase().slice(0, 2);
  const file = files[short];
  if (file === undefined) return english;
  const known = read.get(short) ?? readLanguage(file);
  read.set(short, known);
  return known;
}
