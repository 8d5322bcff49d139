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

const joint = /^(?:\s*(?:,|and|&|plus|with|\+|my|our|his|her|the))+\s*$/;

/** "4 adults and 2 kids", "me, my wife and our 2 kids": the sum of consecutive groups of people. */
function findGroups(message: Message): Found<number>[] {
  const { tokens, folded } = message;
  const numbers = findNumbers(message);
  const named = tokens.flatMap((token, at): Found<number>[] => {
    const { start, end, folded: word } = token;
    if (/^(?:me|i|myself)$/.test(word)) return [{ value: 1, start, end }];
    const before = tokens[at - 1];
    const number = numbers.find((one) => one.end === before?.end && one.alternative === undefined);
    if (people.test(word) && number !== undefined)
      return [{ value: number.value, start: number.start, end }];
    const isOne = /^an?$/.test(before?.folded ?? '') && people.test(word);
    // "My sister is coming too" doesn't add a person: she is counted already.
    const isSubject = /^(?:is|will|wants|would|comes|has|can)$/.test(tokens[at + 1]?.folded ?? '');
    const isRelated =
      /^(?:my|our|his|her)$/.test(before?.folded ?? '') && relation.test(word) && !isSubject;
    return isOne || isRelated ? [{ value: 1, start: before?.start ?? start, end }] : [];
  });
  const runs: Found<number>[][] = [];
  for (const one of named) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    const isJoined = last !== undefined && joint.test(folded.slice(last.end, one.start));
    if (isJoined) run?.push(one);
    else runs.push([one]);
  }
  return runs.flatMap((run) => {
    const [first, ...others] = run;
    const last = others.at(-1);
    if (first === undefined || last === undefined) return [];
    const value = run.reduce((sum, one) => sum + one.value, 0);
    return [{ value, start: first.start, end: last.end }];
  });
}

/** The number of people that a message lists: "me and my wife" are two. */
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
    }));
}
