import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { oncePer } from '../once-per.ts';
import type { Domain, Flow } from '../model.ts';

const tableSchema = z.object({
  openers: z.array(z.string()),
  closers: z.array(z.string()),
  /** What opens a clause without a mark before it: "perfect thank you". */
  clauses: z.array(z.string()),
  /** Words that may stand anywhere without changing what is said. */
  fillers: z.string(),
  /** Lists that phrases name as `<list>`. */
  words: z.record(z.string(), z.string()),
  /** Of a message about several topics the first of these counts. */
  priority: z.array(z.string()),
  topics: z.record(z.string(), z.array(z.string())),
  /** Words of flow names that say nothing about the topic. */
  flow_words: z.string(),
  /** Names of flows, by the topic that they answer. */
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

/** Any of the words, wherever it stands. */
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

/** A folded message without the greetings and politeness it opens with. */
export function withoutOpening(folded: string): string {
  return folded.replace(smallTalk().openers, '');
}

/** A message without the politeness it closes with. */
export function withoutClosing(text: string): string {
  return text.replace(smallTalk().closers, '');
}

/**
 * The topic of a message that asks for nothing: `greeting`, `thanks`, `capabilities`, ...; undefined for every
 * other message. `small-talk.yml` has the topics and their phrases. A message of several clauses is small talk
 * when each of them is.
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
 * The topic that a flow of a project answers, by its id.
 * @example topicOfFlow({ id: 'greet_user' }); // 'greeting'
 */
export function topicOfFlow({ id }: Pick<Flow, 'id'>): string | undefined {
  const { flows, flowWords } = smallTalk();
  const words = wordsOf(id.toLowerCase()).replaceAll(flowWords, '').trim();
  return flows.find(({ whole }) => whole.test(words))?.name;
}

/** Messages of more clauses are stories. */
const mostClauses = 4;
/** Longer clauses are stories, too. */
const mostLetters = 100;

/** The topic of a text that is one of its phrases, apart from openers, closers and fillers. */
function topicOf(folded: string, topics: readonly Topic[]): string | undefined {
  if (folded.length > mostLetters) return undefined;
  const { opener, fillers } = smallTalk();
  // "Ok, thank you so much": what is left after each opener, the shortest first.
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
    // "Cool thx": what stands at the end may say more than what is left without it.
    if (found === 'reaction' || found === 'praise') kept ??= found;
    else if (found !== undefined) return found;
  }
  return kept;
}

/** The phrases of `small_talk` in the project's domain: they come before the built-in ones. */
const ownTopics = oncePer(({ smallTalk: own = {} }: Domain) => topicsOf(own, smallTalk().words));

/** Openers that are taken off one by one. */
const mostOpeners = 6;

/** Without punctuation and apostrophes; a letter that is drawn out ("heyyy") stands once. */
function wordsOf(text: string): string {
  return text
    .replaceAll(/['\u2018\u2019]/g, '')
    .replaceAll(/[^\p{L}\p{N}\p{Extended_Pictographic}]+/gu, ' ')
    .replaceAll(/(\p{L})\1{2,}/gu, '$1')
    .trim();
}

/** Words that `...` stands for. */
const anyWords = '\\S+(?: \\S+){0,5}';

/**
 * A phrase of the small-talk table as the source of a regular expression. Phrases cannot nest and have no
 * repetition without a bound, so that matching stays linear whatever they are.
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
