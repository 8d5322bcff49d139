import type { Language } from './words/language.ts';
import type { Message, Word } from './words/words.ts';

/** The kind of a word: an object, an action that applies to any object, or a word of many requests. */
export type WordKind = 'topic' | 'generic' | 'weak';

/** How much a word that a flow doesn't have reduces the flow's confidence. */
export const penalties = {
  topic: 1,
  besideTopic: 0.6,
  /** "I want to buy a table": another action than that of the flow. */
  action: 1.2,
  generic: 0.6,
  light: 0.25,
  weak: 0.2,
  name: 0.2,
  tail: 0.1,
} as const;

export type WordRole = keyof typeof penalties;

export function kindOf(stem: string, { weak, generic }: Language): WordKind {
  if (weak.has(stem)) return 'weak';
  return generic.has(stem) ? 'generic' : 'topic';
}

/** Whether a verb is a noun here: "my order". */
export function isThing({ tokens, language }: Message, { at, stem }: Word): boolean {
  return language.nouns.has(stem) && language.determiners.has(tokens[at - 1]?.folded ?? '');
}

/** The role of a word that a flow doesn't have. Names and words next to numbers count little. */
export function roleOf(message: Message, word: Word, stem: string): WordRole {
  const { language } = message;
  const kind = kindOf(stem, language);
  if (kind === 'generic' && isVerb(message, word)) return 'action';
  if (kind !== 'topic') return kind;
  if (language.light.has(stem)) return 'light';
  const text = message.text.slice(word.start, word.end);
  // "My PIN": capitals, but a known word and not a name.
  const isShort = /^\p{Lu}{2,}$/u.test(text) && language.known.has(word.folded);
  const isName =
    word.at > 0 && /^\p{Lu}/u.test(text) && !isShort && !/^\p{Lu}+$/u.test(message.text);
  if (isName) return 'name';
  const isAtNumber =
    /^[\s,$€£]*\d/.test(message.text.slice(word.end)) ||
    /\d\s?$/.test(message.text.slice(0, word.start));
  return isAtNumber ? 'name' : 'topic';
}

/** Whether a word is the verb of a wish, request or order: "to sell", "can you sell", "sell my". */
function isVerb({ tokens, language }: Message, { at, stem }: Word): boolean {
  const { infinitive, auxiliaries, pronouns, light, determiners } = language;
  const before = tokens[at - 1]?.folded ?? '';
  if (light.has(stem)) return false;
  if (infinitive.has(before)) return true;
  if (at === 0) return determiners.has(tokens[1]?.folded ?? '');
  return pronouns.has(before) && auxiliaries.has(tokens[at - 2]?.folded ?? '');
}
