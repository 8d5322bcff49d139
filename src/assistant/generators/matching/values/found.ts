import { type Message, overlaps, type Span } from '../../words/words.ts';

/** A value and its range in the message. */
export interface Found<T> extends Span {
  readonly value: T;
}

/** All matches of a pattern that `read` converts to a value, with their ranges. */
export function readAll<T>(
  text: string,
  pattern: RegExp,
  read: (match: RegExpExecArray) => T | undefined,
): Found<T>[] {
  return Array.from(text.matchAll(pattern)).flatMap((match) => {
    const value = read(match);
    const start = match.index;
    return value === undefined ? [] : [{ value, start, end: start + match[0].length }];
  });
}

/** The ranges that don't overlap with taken ones. */
export function free<T extends Span>(found: readonly T[], taken: readonly Span[]): T[] {
  return found.filter((one) => !taken.some((span) => overlaps(one, span)));
}

/** Words that exclude the value after them. "Why not 50?" doesn't. */
const denial =
  /(?:(?<!\b(?:why|if|or) )\bnot|\b(?:other than|except(?: for)?|instead of|rather than|any(?:thing|one|body)? (?:\w+ )?but))(?: (?:on|at|to|by|for|from|in|with|the|an?|my|our))*[ $€£]*$/;

/** Whether a message names a value to exclude it: "by phone, not at a branch", "someone other than Tom". */
export function isDenied({ folded }: Message, { start }: Span): boolean {
  return denial.test(folded.slice(Math.max(0, start - mostDenial), start));
}

/** Number of characters before a value that are checked. */
const mostDenial = 40;

const email = /(?<![\w.+-])[\w.+-]{1,64}@(?:[a-z\d-]{1,63}\.){1,8}[a-z]{2,24}(?![\w-])/gi;
// Dates don't match, even impossible ones.
const phone =
  /(?<![\w+]|\d[./-])(?!(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4})(?!\d))(?:\+|00)?\(?\d[\d ()./-]{5,22}\d(?!\w)/g;
const iban = /(?<!\w)[a-z]{2}\d{2}(?: ?[a-z\d]{4}){2,7}(?: ?[a-z\d]{1,4})?(?!\w)/gi;

export function findEmails(message: Message): Found<string>[] {
  return readAll(message.text, email, ([text]) => text.toLowerCase());
}

/** Finds phone numbers: 6 to 15 digits, returned as digits with the leading `+` if there was one. */
export function findPhones(message: Message): Found<string>[] {
  return readAll(message.text, phone, ([text]) => {
    const digits = text.replaceAll(/\D/g, '');
    if (digits.length < 6 || digits.length > 15) return undefined;
    return text.startsWith('+') ? `+${digits}` : digits;
  });
}

/**
 * Finds account numbers like IBANs; returned without spaces and in capitals. Check digits are not
 * verified.
 */
export function findIbans(message: Message): Found<string>[] {
  return readAll(message.text, iban, ([text]) => {
    const compact = text.replaceAll(' ', '').toUpperCase();
    // Several words can look like one: an account number has more digits than its check digits.
    const enough = compact.length >= 14 && compact.length <= 34;
    return enough && (compact.match(/\d/g)?.length ?? 0) >= 8 ? compact : undefined;
  });
}
