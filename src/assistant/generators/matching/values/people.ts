import type { Message } from '../../words/words.ts';
import type { Found } from './found.ts';
import { findNumbers, type FoundNumber } from './numbers.ts';

const relation =
  /^(?:wife|husband|partner|girlfriend|boyfriend|friend|mate|brother|sister|mother|father|mum|mom|dad|son|daughter|kid|child|baby|boss|colleague|neighbour|neighbor|cousin|aunt|uncle|grandma|grandpa|spouse|fiance|fiancee|date|guest)$/;
const alone =
  /\b(?:just|only) (?:me|myself|for me)\b|\b(?:by myself|on my own|alone)\b|^(?:for )?(?:me|myself)$/;

const people =
  /^(?:adults?|kids?|children|child|grown|bab(?:y|ies)|toddlers?|teens?|teenagers?|friends?|mates?|people|persons?|ppl|pax|guests?|others?|colleagues?|ladies|men|women|girls|boys|seniors?|students?|more)$/;

export function isPeopleWord(word: string): boolean {
  return people.test(word);
}

/** "4 adults and 2 kids", "me and five friends": the sum of those who are counted, and of who speaks. */
function findGroups(message: Message): Found<number>[] {
  const { tokens, folded } = message;
  const numbers = findNumbers(message);
  const counted = tokens.flatMap((token, at) => {
    if (!people.test(token.folded)) return [];
    const before = tokens[at - 1];
    const number = numbers.find((one) => one.end === before?.end);
    const isOne = number === undefined && /^an?$/.test(before?.folded ?? '');
    const value = isOne ? 1 : number?.value;
    return value === undefined ? [] : [{ value, start: before?.start ?? 0, end: token.end }];
  });
  const [first] = counted;
  const last = counted.at(-1);
  if (first === undefined || last === undefined) return [];
  const self = /\b(?:me|i|myself)(?: and|,|\s*&| plus| with) (?:my )?$/.exec(
    folded.slice(0, first.start),
  );
  const isJoined = counted.every((one, at) => {
    const next = counted[at + 1];
    const between = next === undefined ? ' and ' : folded.slice(one.end, next.start);
    return /^(?:\s*(?:,|and|&|plus|with|\+))+\s*$/.test(between);
  });
  if (!isJoined || (counted.length === 1 && self === null)) return [];
  const value = counted.reduce((sum, one) => sum + one.value, self === null ? 0 : 1);
  return [{ value, start: self === null ? first.start : self.index, end: last.end }];
}

/** How many come, of a message that counts them by name: "me and my wife" are two. */
export function findPeople(message: Message): Found<number>[] {
  const { folded, tokens, text } = message;
  const groups = findGroups(message);
  if (groups.length > 0) return groups;
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

/** "Both" are two, "a single wheel" is one. */
export function findBoth({ tokens }: Message): FoundNumber[] {
  return tokens
    .filter((token) => token.folded === 'both' || token.folded === 'single')
    .map(({ start, end, folded }) => ({
      value: folded === 'both' ? 2 : 1,
      start,
      end,
      isMoney: false,
      isWeak: true,
      isAmbiguous: false,
    }));
}
