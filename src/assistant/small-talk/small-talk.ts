import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { oncePer } from '../cache.ts';
import type { Domain } from '../model.ts';

const tableSchema = z.object({
  openers: z.array(z.string()),
  closers: z.array(z.string()),
  topics: z.record(z.string(), z.array(z.string())),
});

interface Topic {
  readonly name: string;
  readonly whole: RegExp;
}

interface SmallTalk {
  readonly opener: RegExp;
  readonly openers: RegExp;
  readonly closers: RegExp;
  readonly topics: readonly Topic[];
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
    topics: topicsOf(table.topics),
  };
}

function topicsOf(topics: Readonly<Record<string, readonly string[]>>): readonly Topic[] {
  return Object.entries(topics).map(([name, phrases]) => ({
    name,
    whole: new RegExp(`^${anyOf(phrases)}$`, 'u'),
  }));
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
 * other message. `small-talk.yml` has the topics and their phrases.
 * @example smallTalkTopic('Good morning!'); // 'greeting'
 */
export function smallTalkTopic(message: string, domain?: Domain): string | undefined {
  const folded = message.trim().toLowerCase();
  const { topics: builtin, opener } = smallTalk();
  const topics = domain?.smallTalk === undefined ? builtin : [...ownTopics(domain), ...builtin];
  // "Ok, thank you so much": what is left after each opener, the shortest first.
  const rests = [folded];
  for (let rest = folded; rests.length <= mostOpeners;) {
    const next = rest.replace(opener, '');
    if (next === rest) break;
    rests.unshift((rest = next));
  }
  for (const text of rests.flatMap((rest) => [wordsOf(withoutClosing(rest)), wordsOf(rest)])) {
    const found = text === '' ? undefined : topics.find(({ whole }) => whole.test(text));
    if (found !== undefined) return found.name;
  }
  return undefined;
}

/** The phrases of `small_talk` in the project's domain: they come before the built-in ones. */
const ownTopics = oncePer(({ smallTalk: own = {} }: Domain) => topicsOf(own));

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
