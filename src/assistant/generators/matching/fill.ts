import type { JsonValue } from '../../../protocol/index.ts';
import { type Message, messageOf } from '../words/words.ts';
import { findCapitals, findNames, findObject, introducedIn } from './names.ts';
import type { Reading } from './reading.ts';
import type { SlotKind, SlotProfile } from './slot-profile.ts';
import { findEmails, type Found, free } from './values/found.ts';
import type { FoundNumber } from './values/numbers.ts';

/** A slot and its value in the message. */
export interface Fill {
  readonly profile: SlotProfile;
  readonly value: JsonValue;
}

/** The most specific kinds first: text that they take can't be misread by the others. */
const order: readonly SlotKind[] = [
  'pattern',
  'email',
  'iban',
  'date-time',
  'date',
  'time',
  'phone',
  'category',
  'number',
  'name',
  'free',
];

interface FillOptions {
  /** Takes a capitalised name for the only slot of kind `name`: in a request, "add Bob". @default false */
  readonly byCapitals?: boolean;
}

/** Finds values for slots that were not asked for, only if they are unambiguous. */
export function fillUnasked(
  reading: Reading,
  profiles: readonly SlotProfile[],
  options: FillOptions = {},
): Fill[] {
  const fills: Fill[] = [];
  for (const kind of order) {
    const ofKind = profiles.filter((profile) => profile.kind === kind);
    for (const profile of ofKind) {
      const found = choose(reading, profile, ofKind, options);
      if (found === undefined) continue;
      reading.take(found);
      fills.push({ profile, value: found.value });
    }
  }
  return fills;
}

function choose(
  reading: Reading,
  profile: SlotProfile,
  rivals: readonly SlotProfile[],
  options: FillOptions,
): Found<JsonValue> | undefined {
  if (profile.kind === 'name' || profile.kind === 'free') {
    return announced(reading, profile, options.byCapitals === true && rivals.length === 1);
  }
  if (profile.kind === 'number') {
    const numbers = lastSaid(reading.message, reading.fittingNumbers(profile, false));
    return chooseNumber(reading.message, profile, numbers, rivals);
  }
  const fitting = lastSaid(reading.message, reading.fitting(profile, false));
  const byWord = fitting.filter((one) => isAnnounced(reading.message, one, profile));
  if (byWord.length > 0) return byWord[0];
  const withoutWord = fitting.filter(
    (one) => !rivals.some((rival) => rival !== profile && isAnnounced(reading.message, one, rival)),
  );
  // Two categories without a word that distinguishes them: the flow asks.
  const isUnsure =
    profile.kind === 'category' && new Set(withoutWord.map((one) => one.value)).size > 1;
  return isUnsure ? undefined : withoutWord[0];
}

const correcting =
  /\b(?:no|sorry|wait|i mean|i meant|rather|actually|make (?:it|that)|correction|oops)\b/;

/** "City bike, sorry, I mean racing bike": values before a correction don't count. */
function lastSaid<Value extends Found<unknown>>(
  { folded }: Message,
  found: readonly Value[],
): readonly Value[] {
  const from = found.findLastIndex((one, at) => {
    const before = found[at - 1];
    return before !== undefined && correcting.test(folded.slice(before.end, one.start));
  });
  return from < 0 ? found : found.slice(from);
}

/** A text after one of the slot's words: "to Bob", "because it is late". */
function announced(
  reading: Reading,
  profile: SlotProfile,
  byCapitals: boolean,
): Found<string> | undefined {
  if (profile.kind === 'free') {
    const words = profile.prepositions.filter((word) => word.length > 3).join('|');
    const match =
      words === ''
        ? null
        : new RegExp(`\\b(?:${words})\\b[\\s:,"']+(.{2,300})$`, 'i').exec(reading.message.text);
    if (match === null) return undefined;
    // A date or number after the text belongs to another slot.
    const from = match.index + match[0].length - (match[1] ?? '').length;
    const border = [...reading.taken, ...reading.values].find((span) => span.start > from);
    const end = border?.start ?? reading.message.text.length;
    const value = reading.message.text
      .slice(from, end)
      .replace(/["'\s.,]+$/, '')
      .replace(/\s+(?:on|at|in|for|by|and)$/i, '');
    return value === '' ? undefined : { value, start: match.index, end };
  }
  const [address] = free(findEmails(reading.message), reading.taken).filter((one) =>
    isAnnounced(reading.message, one, profile),
  );
  if (address !== undefined) return address;
  const introduced = profile.names.has('name') ? undefined : introducedIn(reading.message);
  const taken = [...reading.taken, ...reading.values, ...(introduced ? [introduced] : [])];
  const own = new Set([...flowWords(profile), ...profile.names]);
  const isOwn = (found: Found<string>): boolean =>
    messageOf(found.value, reading.message.language).tokens.every(
      (token) =>
        own.has(token.stem) || (/^\p{Ll}/u.test(token.text) && own.has(reading.stemOf(token))),
    );
  // In "Add Bob to my contacts", "my contacts" is not a name.
  const named = findNames(reading.message, profile.prepositions, taken).find((one) => !isOwn(one));
  if (named !== undefined) return named;
  if (!byCapitals) return undefined;
  const capitals = findCapitals(reading.message, taken).find((one) => !isOwn(one));
  const names = [...profile.names].flatMap((name) => [name, ...reading.meaningsOf(name)]);
  return capitals ?? findObject(reading.message, taken, new Set(names));
}

function flowWords({ flow }: SlotProfile): string[] {
  const text = `${flow.name} ${flow.id.replaceAll(/[_-]+/g, ' ')} ${flow.description}`;
  return messageOf(text).tokens.map((token) => token.stem);
}

/**
 * Chooses the number next to the slot's word; otherwise an amount of money; otherwise the only number for
 * the only slot.
 */
function chooseNumber(
  message: Message,
  profile: SlotProfile,
  numbers: readonly FoundNumber[],
  rivals: readonly SlotProfile[],
): FoundNumber | undefined {
  const isOf = (one: FoundNumber, of: SlotProfile): boolean =>
    isNamedAt(message, one, of) || isAnnounced(message, one, of);
  const others = rivals.filter((rival) => rival !== profile);
  const open = numbers.filter((one) => !others.some((rival) => isOf(one, rival)));
  const named = open.find((one) => isOf(one, profile));
  if (named !== undefined) return named;
  const money = profile.isMoney ? open.find((one) => one.isMoney) : undefined;
  if (money !== undefined) return money;
  const isOnlySlot = rivals.length === 1;
  const isOnlyMoney = profile.isMoney && rivals.filter((rival) => rival.isMoney).length === 1;
  return (isOnlySlot || isOnlyMoney) && open.length === 1 ? open[0] : undefined;
}

/** Words that any slot for people counts. Adults and children can have their own slots. */
const anyPeople = /^(?:people|persons?|ppl|pax|guests?)$/;

/** "3 children", "amount 50", "a budget of 200": whether a word of the slot is near the number. */
function isNamedAt(message: Message, number: FoundNumber, profile: SlotProfile): boolean {
  const before = message.tokens.filter((token) => token.end <= number.start).slice(-3);
  // Words before another number or "and" belong to that number: "2 adults and 3 children".
  const border = before.findLastIndex((token) => /^(?:and|or|\d.*)$/.test(token.folded));
  const after = message.tokens.filter((token) => token.start >= number.end).slice(0, 1);
  if (profile.isPeople && after.some((token) => anyPeople.test(token.folded))) return true;
  return [...before.slice(border + 1), ...after].some((token) => profile.names.has(token.stem));
}

/** Whether a word of the slot precedes the value, ignoring articles. */
function isAnnounced(message: Message, found: Found<unknown>, profile: SlotProfile): boolean {
  const before = message.tokens.filter((token) => token.end <= found.start).slice(-2);
  const nearest = before.findLast((token) => !/^(?:my|the|a|an|our|your|is)$/.test(token.folded));
  return (
    nearest !== undefined &&
    (profile.prepositions.includes(nearest.folded) || profile.names.has(nearest.stem))
  );
}
