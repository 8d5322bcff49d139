import { type Message, overlaps, type Span } from '../../words/words.ts';

/** A value and where it stands in the message. */
export interface Found<T> extends Span {
  readonly value: T;
}

/** Every match of a pattern that can be read as a value, and where it stands. */
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

/** Those that share no character with what is taken already. */
export function free<T extends Span>(found: readonly T[], taken: readonly Span[]): T[] {
  return found.filter((one) => !taken.some((span) => overlaps(one, span)));
}

/** What excludes the value behind it; "why not 50?" asks for it. */
const denial =
  /(?:(?<!\b(?:why|if|or) )\bnot|\b(?:other than|except(?: for)?|instead of|rather than|any(?:thing|one|body)? (?:\w+ )?but))(?: (?:on|at|to|by|for|from|in|with|the|an?|my|our))*[ $€£]*$/;

/** "By phone, not at a branch", "someone other than Tom": whether a value is named to exclude it. */
export function isDenied({ folded }: Message, { start }: Span): boolean {
  return denial.test(folded.slice(Math.max(0, start - mostDenial), start));
}

/** Letters looked at in front of a value. */
const mostDenial = 40;

const email = /(?<![\w.+-])[\w.+-]{1,64}@(?:[a-z\d-]{1,63}\.){1,8}[a-z]{2,24}(?![\w-])/gi;
// A date is none, even an impossible one.
const phone =
  /(?<![\w+]|\d[./-])(?!(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4})(?!\d))(?:\+|00)?\(?\d[\d ()./-]{5,22}\d(?!\w)/g;
const iban = /(?<!\w)[a-z]{2}\d{2}(?: ?[a-z\d]{4}){2,7}(?: ?[a-z\d]{1,4})?(?!\w)/gi;

export function findEmails(message: Message): Found<string>[] {
  return readAll(message.text, email, ([text]) => text.toLowerCase());
}

/** Phone numbers: 6 to 15 digits; kept as digits with a leading `+` where there was one. */
export function findPhones(message: Message): Found<string>[] {
  return readAll(message.text, phone, ([text]) => {
    const digits = text.replaceAll(/\D/g, '');
    if (digits.length < 6 || digits.length > 15) return undefined;
    return text.startsWith('+') ? `+${digits}` : digits;
  });
}

/** Account numbers in the manner of an IBAN, without blanks and in capitals; not checked. */
export function findIbans(message: Message): Found<string>[] {
  return readAll(message.text, iban, ([text]) => {
    const compact = text.replaceAll(' ', '').toUpperCase();
    // A run of words may look like one: an account number has more digits than its check digits.
    const enough = compact.length >= 14 && compact.length <= 34;
    return enough && (compact.match(/\d/g)?.length ?? 0) >= 8 ? compact : undefined;
  });
}
