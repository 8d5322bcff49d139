import type { JsonValue } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import { type Message, messageOf } from '../words/words.ts';
import { type Fill, fillUnasked } from './fill.ts';
import { cleanAnswer } from './names.ts';
import { isOpenQuestion, isUnsure } from './phrases.ts';
import type { SlotProfile } from './slot-profile.ts';
import { setSlot, type Turn } from './turn.ts';
import { wordsOf } from './values/categories.ts';
import { isBareYesNo, readYesNo, saysSlot } from './values/yes-no.ts';

const change =
  /\b(?:change|correct|update|edit|modify|fix|redo|replace|adjust|alter|wrong|incorrect|different|another|other|mistake|re-?enter|not (?:the )?(?:right|correct))\b/;
const marker =
  /^(?:no|nope|nah|actually|sorry|oops|wait|correction|rather|hold on|my mistake|i made a mistake)\b|\b(?:i mean|i meant|i said|make (?:it|that|this)|set (?:it|that)|change|correct|update|edit|modify|fix|instead|rather|should (?:be|have been)|wrong|incorrect|different|not .{1,40}\bbut|not (?:the )?(?:right|correct)|better|let'?s (?:say|do|make))\b|, ?not\b|\bactually[.!\s]*$|^(?:(?:it|that|this)(?:'s| is) )?not\b.{1,40},/;
export function isChangeWord(word: string): boolean {
  return change.test(word);
}

/** The words before the new value. */
const lead =
  /^(?:(?:no|nope|nah|actually|sorry|oops|wait|correction|rather|well|oh|i mean|i meant|i said|it'?s|it is|it should (?:be|have been)|should be|please|let'?s (?:say|do|make it)|(?:make|change|set|update|correct) (?:it|that|this)(?: to| into)?|not that|but|to be)\b[\s,.:;-]*)+/i;

/**
 * Corrections in the active flow: "make it 50", "no, to Bob", "I meant Friday", "change the recipient"
 * (which clears the slot, so that it is asked again).
 */
export function findCorrections(turn: Turn): Command[] | undefined {
  const { message, filled, asked } = turn;
  if (filled.length === 0 || !isMarked(turn)) return undefined;
  if (isOpenQuestion(message) || isUnsure(message)) return undefined;
  if (
    asked?.kind === 'free' &&
    !/^(?:no|actually|sorry|i meant?)\b|\bmake it\b/.test(message.folded)
  ) {
    return undefined;
  }
  const kept = messageOf(withoutOldValue(turn), message.language);
  const named = mentionedSlot(turn, kept);
  if (named !== undefined) {
    const value = valueAfter(turn, kept, named.profile, named.end);
    if (value !== undefined) return [setSlot(named.profile, value), ...besides(turn, kept, named)];
    const fits = change.test(kept.folded) && turn.valueOf(named.profile) !== null;
    return fits ? [setSlot(named.profile, null)] : undefined;
  }
  const fills = unnamed(turn, kept, message);
  return fills.length === 0 ? undefined : fills.map((fill) => setSlot(fill.profile, fill.value));
}

/** Whether a message is worded as a correction, or negates the old value: "Bob not Ann". */
function isMarked(turn: Turn): boolean {
  const { message, filled } = turn;
  const text = message.folded.replace(/^(?:oh|ah|well|um+|uh+|hm+|ok|okay)\b[\s,.!]*/, '');
  if (marker.test(text)) return true;
  const names = (profile: SlotProfile): boolean =>
    text.includes(` not ${wordsOf(turn.valueOf(profile)).toLowerCase()}`);
  return text.includes(' not ') && filled.some(names);
}

/** Values for other slots in a correction: "the electric bike, and both wheels". */
function besides(turn: Turn, message: Message, { profile }: Mention): Command[] {
  const others = turn.profiles.filter(
    (one) => one.slot.name !== profile.slot.name && !['yes-no', 'name', 'free'].includes(one.kind),
  );
  return fillUnasked(turn.read(message), others)
    .filter(
      (fill) => fill.profile.kind !== profile.kind && fill.value !== turn.valueOf(fill.profile),
    )
    .map((fill) => setSlot(fill.profile, fill.value));
}

/** "Not tomorrow, Friday", "it's not a city bike, it's a racing bike". */
const deniedFirst =
  /^(?:(?:no|sorry|oh|wait|actually|oops|hm+)\b[\s,]*)*(?:(?:it|that|this)(?:'s| is) )?not (?!(?:really|now|yet|sure|at all|today|quite|correct|right)\b)[^,]{1,30},\s*/i;

/** "Bob, not Ann", "not the Ann one, Bob": a negated phrase, up to its comma. */
const deniedPhrase =
  /,?\s*\b(?:and )?not (?:(?:to|for|from|at|the|my|an?) )*([^,]{1,60})(?:,(?: and)?|$)/gi;

/**
 * Removes the negated value. "not Ann but Bob", "Bob instead of Ann", "Bob, not Ann", "not Ann, Bob"
 * become "Bob".
 */
function withoutOldValue(turn: Turn): string {
  const old = turn.filled.map((profile) => wordsOf(turn.valueOf(profile)).toLowerCase());
  // At most one word can follow the value: "not the red one".
  const isOld = (phrase: string): boolean =>
    old.some((value) => {
      const rest = phrase.startsWith(value) ? phrase.slice(value.length) : undefined;
      return rest !== undefined && /^(?: (?!but\b)\w+)?$/.test(rest);
    });
  return turn.message.text
    .replace(deniedFirst, '')
    .replaceAll(deniedPhrase, (whole, phrase: string) =>
      isOld(phrase.toLowerCase()) ? ' ' : whole,
    )
    .trim()
    .replace(/\bnot (?:to |for |from )?[^,]{1,60}?,? but\b/i, '')
    .replace(
      /,? (?:instead of|rather than|and not|not(?! (?:the |really |quite )?(?:right|correct|what))) [^,.]{1,60}$/i,
      '',
    );
}

interface Mention {
  readonly profile: SlotProfile;
  readonly end: number;
}

/** The only slot of the flow that the message names. */
function mentionedSlot(turn: Turn, message: Message): Mention | undefined {
  return (
    mentionBy(turn, message, (profile) => profile.names) ??
    // "Wrong person": a word that occurs only in this slot's description.
    mentionBy(turn, message, (profile) => {
      const others = turn.profiles.filter((one) => one !== profile);
      return new Set(
        [...profile.described].filter((word) => !others.some((one) => one.described.has(word))),
      );
    })
  );
}

function mentionBy(
  turn: Turn,
  message: Message,
  namesOf: (profile: SlotProfile) => ReadonlySet<string>,
): Mention | undefined {
  const mentions = turn.profiles.flatMap((profile) => {
    const names = namesOf(profile);
    const tokens = message.tokens.filter((token) => names.has(token.stem));
    const last = tokens.at(-1);
    return last === undefined ? [] : [{ profile, end: last.end, count: tokens.length }];
  });
  const most = Math.max(0, ...mentions.map((mention) => mention.count));
  const best = mentions.filter((mention) => mention.count === most);
  if (best.length === 1) return best[0];
  const filled = best.filter((mention) => turn.valueOf(mention.profile) !== null);
  return filled.length === 1 ? filled[0] : undefined;
}

/** The new value of a named slot: by its format, otherwise the words after "to" or "is". */
function valueAfter(
  turn: Turn,
  message: Message,
  profile: SlotProfile,
  end: number,
): JsonValue | undefined {
  if (profile.kind === 'yes-no')
    return readYesNo(messageOf(message.text.slice(end), message.language));
  const fitting = turn.read(message).fitting(profile, true);
  const found = fitting.find((one) => one.start >= end) ?? fitting[0];
  if (found !== undefined) return found.value;
  if (!['name', 'free'].includes(profile.kind)) return undefined;
  // The last of these words counts: "the recipient is wrong, it should be to Bob".
  const match = /^.*(?:\bto|\bis|\bit'?s|\bas|\bbe|\bwas|:|=|\binto|\bwith)\s+(.{1,200})$/i.exec(
    message.text.slice(end),
  );
  const answer = cleanAnswer(match?.[1] ?? '', []);
  return answer === '' || /^(?:wrong|incorrect|not)\b/i.test(answer) ? undefined : answer;
}

/** Values without a slot's name: by their format and the words before them. */
function unnamed(turn: Turn, message: Message, whole: Message): Fill[] {
  const rest = messageOf(message.text.replace(lead, ''), message.language);
  if (rest.tokens.length === 0 || isBareYesNo(rest)) return [];
  const reading = turn.read(rest);
  const { asked, filled } = turn;
  const open = asked === undefined || turn.isPatternQuestion ? [] : [asked];
  const fills = fillUnasked(reading, [...open, ...filled.filter((one) => one !== asked)]);
  if (fills.length > 0) return fills;
  // Several slots have the same format: users most likely correct the latest value.
  for (const profile of [...open, ...filled.toReversed()]) {
    const found = reading.fitting(profile, true)[0];
    if (found !== undefined) return [{ profile, value: found.value }];
  }
  // "Actually inside is better", after "outside".
  for (const profile of filled.filter((one) => one.kind === 'yes-no')) {
    const value = rest.tokens.length <= 6 ? saysSlot(rest, profile) : undefined;
    if (value !== undefined && value !== turn.valueOf(profile)) return [{ profile, value }];
  }
  return bareText(turn, whole, rest);
}

/** "I meant Bob": replaces the last name if nothing else fits. */
function bareText(turn: Turn, message: Message, rest: Message): Fill[] {
  const { asked, filled } = turn;
  const isText = (profile: SlotProfile): boolean => profile.kind === 'name';
  const isSure = /\bi mean(?:t)?\b|\b(?:make|change) (?:it|that)\b|\binstead\b/.test(
    message.folded,
  );
  // "No, bob" or "no Bob", but not "no way".
  const isPlain =
    rest.tokens.length <= 3 &&
    (/^(?:no,|actually\b|sorry\b|oops\b)/.test(message.folded) || /^\p{Lu}/u.test(rest.text));
  const isEmpty = rest.tokens.every((token) => !token.isContent && /^\p{Ll}/u.test(token.text));
  if (rest.tokens.length > 5 || isEmpty || (!isSure && !isPlain)) return [];
  if (asked !== undefined && isText(asked) && !isSure) return [];
  if (turn.requestsIn(rest).kind !== 'nothing' || change.test(rest.folded)) return [];
  const profile = filled.findLast((one) => isText(one) && one !== asked);
  const value = cleanAnswer(rest.text, profile?.prepositions ?? []);
  return profile === undefined || value === '' ? [] : [{ profile, value }];
}
