import type { Message } from '../../words/words.ts';
import type { Found } from './found.ts';
import { findNumbers, type FoundNumber } from './numbers.ts';

const relation =
  /^(?:wife|husband|partner|girlfriend|boyfriend|friend|mate|brother|sister|mother|father|mum|mom|dad|son|daughter|kid|child|baby|boss|colleague|neighbour|neighbor|cousin|aunt|uncle|grandma|grandpa|spouse|fiance|fiancee|date|guest)$/;
const alone =
  /\b(?:just|only) (?:me|myself|for me)\b|\b(?:by myself|on my own|alone)\b|^(?:for )?(?:me|myself)$/;

/** How many come, of a message that counts them by name: "me and my wife" are two. */
export function findPeople(message: Message): Found<number>[] {
  const { folded, tokens, text } = message;
  const isSelf = tokens.some(({ folded: word }) => /^(?:me|i|myself|we)$/.test(word));
  const others = tokens.filter((token) => relation.test(token.folded));
  const start = tokens[0]?.start ?? 0;
  if (others.length === 0) {
    return alone.test(folded.replace(/[.!?,]+$/, ''))
      ? [{ value: 1, start, end: text.length }]
      : [];
  }
  const isJoined = /\b(?:and|with|plus)\b|&/.test(folded);
  if (!isSelf || !isJoined || findNumbers(message).length > 0) return [];
  const first = tokens.find((token) => /^(?:me|i|my|myself)$/.test(token.folded)) ?? others[0];
  const last = others.at(-1);
  return [
    { value: 1 + others.length, start: first?.start ?? start, end: last?.end ?? text.length },
  ];
}

/** "Both" are two. */
export function findBoth({ tokens }: Message): FoundNumber[] {
  return tokens
    .filter((token) => token.folded === 'both')
    .map(({ start, end }) => ({
      value: 2,
      start,
      end,
      isMoney: false,
      isWeak: true,
      isAmbiguous: false,
    }));
}
