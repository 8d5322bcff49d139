import type { JsonValue } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import { type Message, without } from '../words/words.ts';
import { fillUnasked } from './fill.ts';
import { cleanAnswer, findNames } from './names.ts';
import type { Reading } from './reading.ts';
import type { SlotProfile } from './slot-profile.ts';
import { setSlot, type Turn } from './turn.ts';
import type { Found } from './values/found.ts';
import { isBareYesNo, readYesNo, saysSlot } from './values/yes-no.ts';

/** Maximum number of words of a value in the wrong format; longer messages are something else. */
const mostWrongWords = { number: 4, category: 4, 'yes-no': 2 } as const;

/** Looks like a date or time, although no reader accepted it. */
const isImpossible =
  /^(?:on |at )?(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}[:.]\d{2}(?: ?[ap]m)?|(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}(?:st|nd|rd|th)?)(?:,? \d{4})?[.! ]*$/;
const isWhen = /^(?:date|time|date-time)$/;
const confirming = /confirm|correct|proceed|approve|accept|agree|final|submit|continue/;

/** The value for the slot that was asked for, if the message has one in the slot's format. */
export function findAnswer(turn: Turn, message: Message): Command[] | undefined {
  const { asked } = turn;
  if (asked === undefined) return undefined;
  if (asked.kind === 'yes-no') {
    const value = saysOpposite(message, asked) ?? readYesNo(message) ?? saysItself(message, asked);
    if (value === undefined) return undefined;
    const reading = turn.read(message);
    const others = isBareYesNo(message) ? [] : otherFills(turn, reading);
    // "No, send 45" is a correction: the confirmation is asked again.
    const isCorrection = others.some(
      (one) => one.command === 'set slot' && (turn.input.slots[one.name] ?? null) !== null,
    );
    const isNamed = saysItself(message, asked) !== undefined;
    // "Yes, but we are 5" also answers yes, unless it is the last question before an action.
    const isLast = asked.step.askBeforeFilling || confirming.test(asked.slot.name);
    const isAnswer = isNamed || (value && !isLast);
    return isCorrection && !isAnswer ? others : [setSlot(asked, value), ...others];
  }
  const reading = turn.read(message);
  const found = bestFitting(reading, asked);
  if (found === undefined) return undefined;
  reading.takeAnswer(found);
  return [setSlot(asked, found.value), ...otherFills(turn, reading)];
}

/** "Inside please" to "outside?" is a no. */
function saysOpposite(message: Message, asked: SlotProfile): false | undefined {
  return saysItself(message, asked) === false ? false : undefined;
}

/** "It is urgent" to "urgent?", "inside" to "outside?". `saysSlot` handles negations. */
function saysItself(message: Message, asked: SlotProfile): boolean | undefined {
  return message.tokens.length <= 6 ? saysSlot(message, asked) : undefined;
}

/** Values for the other slots of the active flow. */
export function otherFills(turn: Turn, reading: Reading): Command[] {
  const others = turn.profiles.filter(
    (profile) => profile.slot.name !== turn.asked?.slot.name && profile.kind !== 'yes-no',
  );
  return fillUnasked(reading, others)
    .filter((fill) => fill.value !== turn.valueOf(fill.profile))
    .map((fill) => setSlot(fill.profile, fill.value));
}

function bestFitting(reading: Reading, asked: SlotProfile): Found<JsonValue> | undefined {
  const fitting = reading.fitting(asked, true);
  if (asked.kind === 'number') {
    const numbers = reading.fittingNumbers(asked, true);
    const money = asked.isMoney ? numbers.find((one) => one.isMoney) : undefined;
    return money ?? numbers.find((one) => !one.isWeak) ?? numbers[0];
  }
  if (asked.kind === 'category' && fitting.length > 1) {
    const words = reading.message.tokens;
    const announced = fitting.find((one) => {
      const before = words.findLast(
        (token) => token.end <= one.start && !/^(?:my|the|a|an|our)$/.test(token.folded),
      );
      return before !== undefined && asked.prepositions.includes(before.folded);
    });
    return announced ?? fitting[0];
  }
  return fitting[0];
}

/** A text value for the slot that was asked for, without the words around it. */
export function freeAnswer(turn: Turn): Command[] | undefined {
  const { asked, message } = turn;
  if (asked === undefined || message.text === '') return undefined;
  switch (asked.kind) {
    case 'free':
      return [setSlot(asked, turn.verbatim)];
    case 'name':
      return nameAnswer(turn, asked);
    case 'number':
    case 'category':
    case 'yes-no': {
      // The wrong format: the slot's own rejection explains it better than "please rephrase".
      const isShort = message.tokens.length <= mostWrongWords[asked.kind];
      if (turn.isPatternQuestion || !isShort) return undefined;
      return [setSlot(asked, cleanAnswer(message.text, asked.prepositions))];
    }
    default:
      return turn.isPatternQuestion || (isWhen.test(asked.kind) && isNoMoment(turn, asked))
        ? undefined
        : [setSlot(asked, cleanAnswer(message.text, asked.prepositions))];
  }
}

/**
 * Whether an answer is not a date or time: "yes", "Feb 30" and "not before 10" to "when?", and "Monday"
 * to "at what time?". The question is asked again.
 */
function isNoMoment(turn: Turn, { kind }: SlotProfile): boolean {
  const { message } = turn;
  if (isBareYesNo(message) || /^not\b/.test(message.folded)) return true;
  return isImpossible.test(message.folded) || (kind === 'time' && turn.read().dates.length > 0);
}

/** "Bob, 50 euros tomorrow": the name, and the values for other slots. */
function nameAnswer(turn: Turn, asked: SlotProfile): Command[] | undefined {
  const { message } = turn;
  const reading = turn.read();
  const others = turn.profiles.filter(
    (profile) =>
      profile !== asked &&
      !['yes-no', 'category', 'free', 'name'].includes(profile.kind) &&
      (profile.kind !== 'number' || turn.valueOf(profile) === null),
  );
  // A bare number next to a name can be part of it ("Area 51"): only money is certain.
  const isSure = (profile: SlotProfile): boolean =>
    profile.kind !== 'number' ||
    findNames(message, asked.prepositions, reading.values).length > 0 ||
    reading.numbers.some((one) => one.isMoney) ||
    reading.numbers[0]?.end === message.text.replace(/[.!?\s]+$/, '').length;
  const fills = fillUnasked(reading, others.filter(isSure));
  const sets = fills.map((fill) => setSlot(fill.profile, fill.value));
  const named = findNames(message, asked.prepositions, reading.taken)[0];
  const rest = without(message, withCurrencies(message, reading));
  const value = named?.value ?? cleanAnswer(rest.text, asked.prepositions);
  const isEmpty = rest.tokens.every((token) => !token.isContent && /^\p{Ll}/u.test(token.text));
  if (named === undefined && sets.length === 0 && (isEmpty || isBareYesNo(rest))) return undefined;
  if (/[\p{L}\p{N}]/u.test(value)) return [setSlot(asked, value), ...sets];
  return sets.length > 0 ? sets : undefined;
}

/** The taken ranges, each with the currency and the function words around it. */
function withCurrencies(message: Message, reading: Reading): { start: number; end: number }[] {
  return reading.taken.map(({ start, end }) => {
    const before =
      /(?:(?:^|[\s,])(?:on|at|for|by|and|with|of|the|amount))*\s*[$€£¥,]?\s*$/i.exec(
        message.text.slice(0, start),
      )?.[0] ?? '';
    const after =
      /^\s?(?:[$€£¥]|(?:usd|eur|gbp|chf|euros?|dollars?|bucks|pounds?|francs?)\b)?[\s,]*(?:and\b)?/i.exec(
        message.text.slice(end),
      )?.[0] ?? '';
    return { start: start - before.length, end: end + after.length };
  });
}
