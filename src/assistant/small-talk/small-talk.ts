import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { oncePer } from '../once-per.ts';
import type { Domain, Flow } from '../model.ts';

const tableSchema = z.object({
  openers: z.array(z.string()),
  closers: z.array(z.string()),
  /** Phrases that start a clause without punctuation before it: "perfect thank you". */
  clauses: z.array(z.string()),
  /** Words that can occur anywhere without changing the meaning. */
  fillers: z.string(),
  /** Lists that phrases refer to as `<list>`. */
  words: z.record(z.string(), z.string()),
  /** If a message has several topics, the first of these wins. */
  priority: z.array(z.string()),
  topics: z.record(z.string(), z.array(z.string())),
  /** Words of flow names that don't tell the topic. */
  flow_words: z.string(),
  /** Names of flows, keyed by the topic that they answer. */
  flows: z.record(z.string(), z.array(z.string())),
});

interface Topic {
  readonly name: string;
  readonly whole: RegExp;
}

interface SmallTalk {
  readonly opener: RegExp;
  readonly openers: RegExp;
  readonly closers: RegExp;
  readonly clauseEnd: RegExp;
  readonly fillers: RegExp;
  readonly words: Readonly<Record<string, string>>;
  readonly priority: readonly string[];
  readonly topics: readonly Topic[];
  readonly flowWords: RegExp;
  readonly flows: readonly Topic[];
}

let known: SmallTalk | undefined;

/** Loaded lazily: most CLI commands never need it. */
function smallTalk(): SmallTalk {
  if (known !== undefined) return known;
  const file = new URL('small-talk.yml', import.meta.url);
  known = compile(tableSchema.parse(parse(readFileSync(file, 'utf8'))));
  return known;
}

function compile(table: z.infer<typeof tableSchema>): SmallTalk {
  const opener = `^${anyOf(table.openers)}(?![\\p{L}\\p{N}'])[\\s,.!;:-]*`;
  return {
    opener: new RegExp(opener, 'u'),
    openers: new RegExp(`^(?:${opener.slice(1)})+`, 'u'),
    closers: new RegExp(
      `(?:^|[\\s,]+)(?:${anyOf(table.closers)}(?![\\p{L}\\p{N}'])[\\s,.!]*)+[\\s.!?]*$|[\\s,.!?]+$`,
      'u',
    ),
    clauseEnd: new RegExp(
      `[,.!?;:()\\u2026\\n]+| - | (?:and|but|und|aber) | (?=${anyOf(table.clauses)}(?![\\p{L}\\p{N}]))`,
      'u',
    ),
    fillers: anywhere(table.fillers),
    words: table.words,
    priority: table.priority,
    topics: topicsOf(table.topics, table.words),
    flowWords: anywhere(table.flow_words),
    flows: topicsOf(table.flows, table.words),
  };
}

/** Matches any of the words, anywhere in the text. */
function anywhere(words: string): RegExp {
  return new RegExp(`(?<=^| )(?:${words.trim().split(/\s+/).join('|')})(?: |$)`, 'gu');
}

function topicsOf(
  topics: Readonly<Record<string, readonly string[]>>,
  words: SmallTalk['words'],
): readonly Topic[] {
  return Object.entries(topics).map(([name, phrases]) => {
    const whole = phrases.map((phrase) =>
      phrase.replaceAll(/<(\w+)>/g, (list, key: string) => words[key]?.trim() ?? list),
    );
    return { name, whole: new RegExp(`^${anyOf(whole)}$`, 'u') };
  });
}

const anyOf = (phrases: readonly string[]): string => `(?:${phrases.map(phrasePattern).join('|')})`;

/** Removes the greetings and politeness at the start of a folded message. */
export function withoutOpening(folded: string): string {
  return folded.replace(smallTalk().openers, '');
}

/** Removes the politeness at the end of a message. */
export function withoutClosing(text: string): string {
  return text.replace(smallTalk().closers, '');
}

/**
 * The topic of a small-talk message: `greeting`, `thanks`, `capabilities`, ...; undefined for any other
 * message. `small-talk.yml` has the topics and their phrases. A message of several clauses is small talk
 * if each clause is.
 * @example smallTalkTopic('Thanks a lot, that was really helpful!'); // 'thanks'
 */
export function smallTalkTopic(message: string, domain?: Domain): string | undefined {
  if (message.length > mostClauses * mostLetters) return undefined;
  const folded = message.trim().toLowerCase();
  const { topics: builtin, clauseEnd } = smallTalk();
  const topics = domain?.smallTalk === undefined ? builtin : [...ownTopics(domain), ...builtin];
  const whole = topicOf(folded, topics);
  if (whole !== undefined && whole !== 'reaction') return whole;
  const clauses = folded.split(clauseEnd, mostClauses + 1).filter((clause) => clause.trim() !== '');
  if (clauses.length < 2 || clauses.length > mostClauses) return whole;
  const found: string[] = [];
  for (const clause of clauses) {
    const topic = topicOf(clause, topics);
    if (topic !== undefined) found.push(topic);
    else if (wordsOf(withoutClosing(withoutOpening(clause))) !== '') return whole;
  }
  return smallTalk().priority.find((topic) => found.includes(topic)) ?? found[0];
}

/**
 * The topic that a project's flow answers, according to its id.
 * @example topicOfFlow({ id: 'greet_user' }); // 'greeting'
 */
export function topicOfFlow({ id }: Pick<Flow, 'id'>): string | undefined {
  const { flows, flowWords } = smallTalk();
  const words = wordsOf(id.toLowerCase()).replaceAll(flowWords, '').trim();
  return flows.find(({ whole }) => whole.test(words))?.name;
}

/** Messages with more clauses are not small talk. */
const mostClauses = 4;
/** Longer clauses are not small talk either. */
const mostLetters = 100;

/** The topic whose phrases contain the text, apart from openers, closers and fillers. */
function topicOf(folded: string, topics: readonly Topic[]): string | undefined {
  if (folded.length > mostLetters) return undefined;
  const { opener, fillers } = smallTalk();
  // "Ok, thank you so much": the text without each of its openers in turn, the shortest first.
  const rests = [folded.trim()];
  for (let rest = folded.trim(); rests.length <= mostOpeners;) {
    const next = rest.replace(opener, '');
    if (next === rest) break;
    rests.unshift((rest = next));
  }
  const texts = rests.flatMap((rest) => [wordsOf(withoutClosing(rest)), wordsOf(rest)]);
  const bare = texts.map((text) => text.replaceAll(fillers, '').trim());
  let kept: string | undefined;
  for (const text of new Set([...texts, ...bare])) {
    const found = text === '' ? undefined : topics.find(({ whole }) => whole.test(text))?.name;
    // "Cool thx": the closer can be more specific than the rest, so these two topics wait for a better
    // one.
    if (found === 'reaction' || found === 'praise') kept ??= found;
    else if (found !== undefined) return found;
  }
  return kept;
}

/** The phrases of `small_talk` in the project's domain. They take precedence over the built-in ones. */
const ownTopics = oncePer(({ smallTalk: own = {} }: Domain) => topicsOf(own, smallTalk().words));

/** Maximum number of openers that are removed in turn. */
const mostOpeners = 6;

/** Removes punctuation and apostrophes, and collapses repeated letters ("heyyy"). */
function wordsOf(text: string): string {
  return text
    .replaceAll(/['\u2018\u2019]/g, '')
    .replaceAll(/[^\p{L}\p{N}\p{Extended_Pictographic}]+/gu, ' ')
    .replaceAll(/(\p{L})\1{2,}/gu, '$1')
    .trim();
}

/** The words that `...` matches. */
const anyWords = '\\S+(?: \\S+){0,5}';

/**
 * Converts a phrase of the small-talk table to the source of a regular expression. Phrases can't nest and
 * have no unbounded repetition, so matching is always linear.
 */
export function phrasePattern(phrase: string): string {
  let pattern = '';
  let hasRequired = false;
  for (const [token] of phrase.matchAll(/\[[^\]]*\]|\([^)]*\)|[^\s[(]+/g)) {
    const isOptional = token.startsWith('[');
    const choice = choicePattern(token.replace(/^[[(]|[\])]$/g, ''));
    if (hasRequired) pattern += isOptional ? `(?: ${choice})?` : ` ${choice}`;
    else pattern += isOptional ? `(?:${choice} )?` : choice;
    hasRequired ||= !isOptional;
  }
  return pattern;
}

function choicePattern(choice: string): string {
  const alternatives = choice
    .split('|')
    .map((words) => (words === '...' ? anyWords : escape(words).replaceAll('\\.\\.\\.', anyWords)));
  return `(?:${alternatives.join('|')})`;
}

function escape(words: string): string {
  return words.trim().replaceAll(/[\\^$.*+?{}()[\]|/]/g, '\\$&');
}
