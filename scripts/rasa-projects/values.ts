import type { Slot } from '../../src/assistant/index.ts';
import type { JsonValue } from '../../src/protocol/index.ts';

/**
 * Values that a model could read from a message for a slot, the likeliest first.
 * @param expected The test's value of the slot, in this step or a later one.
 * @example guessValues(amount, 'send 50$ to Jo', undefined) // ['50', ...]
 */
export function guessValues(
  slot: Slot,
  text: string,
  expected: JsonValue | undefined,
): readonly JsonValue[] {
  const read = readValues(slot, text);
  const likely = isIn(expected, text)
    ? [expected, ...read]
    : [...read.slice(0, 1), expected, ...read.slice(1)];
  return [...new Set(likely.filter((value) => value !== undefined))];
}

function isIn(value: JsonValue | undefined, text: string): value is JsonValue {
  return (
    value !== undefined &&
    typeof value !== 'object' &&
    text.toLowerCase().includes(String(value).toLowerCase())
  );
}

function readValues(slot: Slot, text: string): readonly JsonValue[] {
  const answer = yesOrNo(text);
  switch (slot.type) {
    case 'bool':
      return answer === undefined ? [true, false] : [answer, !answer];
    case 'categorical': {
      const values = slot.values ?? [];
      const said = values.filter((value) => isIn(value, text));
      return [...said, ...(said.length === 0 ? [text] : []), ...values];
    }
    case 'float':
      return [...numbersIn(text), text];
    default:
      return [...(answer === undefined ? [] : [answer]), ...textsIn(slot, text)];
  }
}

function yesOrNo(text: string): boolean | undefined {
  if (/^\W*(yes|yep|yeah|sure|correct|ok|okay|right)\b/i.test(text)) return true;
  return /^\W*(no|nope|not)\b/i.test(text) ? false : undefined;
}

function numbersIn(text: string): readonly string[] {
  return text.match(/\d+(?:\.\d+)?/g) ?? [];
}

/**
 * Parts of a message that can be a name: addresses, numbers, capitalized words, words after a
 * preposition.
 */
function textsIn(slot: Slot, text: string): readonly string[] {
  const numbers = numbersIn(text);
  const addresses = text.match(/[\w.+-]*@[\w.-]*\w/g) ?? [];
  const names = text.match(/(?<=\s)\p{Lu}[\p{L}]+(?:\s+\p{Lu}[\p{L}]+)*/gu) ?? [];
  const after =
    text.match(/(?<=\b(?:to|for|with|is|it's|at|meant|say|a|an|the)\s)[^,.!?]+/gi) ?? [];
  const isNumber = /amount|money|number|price|count|rating/.test(slot.name);
  const isName = /name|recipient|person|contact/.test(slot.name) && !/handle/.test(slot.name);
  const whole = text.replace(/[.!?]+$/, '');
  const isShort = whole.split(/\s+/).length < 4 && !isNumber;
  const ordered = isNumber
    ? [numbers, names, addresses]
    : isName
      ? [names, addresses, numbers]
      : [addresses, names, numbers];
  const last = whole.split(/\s+/).at(-1) ?? whole;
  return [...(isShort ? [whole] : []), ...ordered.flat(), whole, ...after, last];
}
