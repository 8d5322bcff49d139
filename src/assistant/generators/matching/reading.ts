import type { JsonValue } from '../../../protocol/index.ts';
import type { Message, Span, Token } from '../words/words.ts';
import type { SlotProfile } from './slot-profile.ts';
import { findCategories } from './values/categories.ts';
import { type Day, findDates } from './values/dates.ts';
import { findEmails, findIbans, findPhones, type Found, free, isDenied } from './values/found.ts';
import { findNumbers, type FoundNumber } from './values/numbers.ts';
import { findBoth, findPeople, isPeopleWord } from './values/people.ts';
import { findPeriods, type Period } from './values/periods.ts';
import { findTimes, hourAlone } from './values/times.ts';
import { converted, findDurations } from './values/units.ts';

interface ReadingOptions {
  readonly today: Day;
  readonly dateOrder: 'day-month' | 'month-day';
  readonly language: string | undefined;
  /** The project's only currency, as an ISO code. */
  readonly currency?: string | undefined;
  /** Synonyms of a stem in this project. */
  readonly meanings?: (stem: string) => readonly string[];
  /** Corrects a mistyped word. */
  readonly correct?: (word: string) => string | undefined;
}

/** A number that is ambiguous or has the wrong currency. */
export type UnclearNumber =
  | { readonly hint: 'currency'; readonly currency: string }
  | { readonly hint: 'separator'; readonly low: number; readonly high: number };

/**
 * The typed values of one message. Each kind is parsed at most once, and only if a slot needs it. Text
 * that became a value is taken: no other slot gets it.
 */
export class Reading {
  readonly message: Message;
  readonly #options: ReadingOptions;
  readonly #taken: Span[] = [];
  #isAnswered = false;
  #dates: Found<string>[] | undefined;
  #times: Found<string>[] | undefined;
  #numbers: FoundNumber[] | undefined;

  constructor(message: Message, options: ReadingOptions) {
    this.message = message;
    this.#options = options;
  }

  /** Synonyms of a stem in this project. */
  meaningsOf(stem: string): readonly string[] {
    return this.#options.meanings?.(stem) ?? [];
  }

  /** The stem of a word, after correcting typos. */
  stemOf({ folded, stem }: Token): string {
    const word = this.#options.correct?.(folded);
    return word === undefined ? stem : this.message.language.stem(word);
  }

  get taken(): readonly Span[] {
    return this.#taken;
  }

  take(span: Span): void {
    this.#taken.push({ start: span.start, end: span.end });
  }

  /** Takes the answer to the question; the rest of the message is additional. */
  takeAnswer(span: Span): void {
    this.take(span);
    this.#isAnswered = true;
  }

  get dates(): readonly Found<string>[] {
    const { today, dateOrder } = this.#options;
    this.#dates ??= findDates(this.message, { today, order: dateOrder });
    return free(this.#dates, this.#taken);
  }

  #datesOf({ prefers }: SlotProfile): readonly Found<string>[] {
    if (prefers === 'future') return this.dates;
    const { today, dateOrder } = this.#options;
    return free(findDates(this.message, { today, order: dateOrder, prefers }), this.#taken);
  }

  /** Taken periods are included: a period has values for two slots. */
  #periods(prefers: 'past' | 'future'): readonly Found<Period>[] {
    const { today, dateOrder } = this.#options;
    return findPeriods(this.message, { today, order: dateOrder, prefers });
  }

  /** The first or last day of a period: "last month" is both. */
  #edges(profile: SlotProfile, isAsked: boolean): readonly Found<string>[] {
    const { edge, prefers } = profile;
    if (edge === undefined) return [];
    const periods = this.#periods(prefers).map(({ value, start, end }) => ({
      value: value[edge],
      start,
      end,
    }));
    if (periods.length > 0 || isAsked || this.#isAnswered || prefers === 'future') return periods;
    // "What did I spend yesterday": a single day in the past is a period.
    const { today, dateOrder } = this.#options;
    const days = findDates(this.message, { today, order: dateOrder, prefers });
    const isBound = /\b(?:from|since|after|until|till|to|before|by)(?: the)? $/;
    const [day] = days;
    if (day === undefined || days.length > 1) return [];
    return isBound.test(this.message.folded.slice(0, day.start)) ? [] : [day];
  }

  get times(): readonly Found<string>[] {
    this.#times ??= findTimes(this.message);
    return free(this.#times, this.#taken);
  }

  /** Numbers that don't belong to a date, a time, an email address or an IBAN. */
  get numbers(): readonly FoundNumber[] {
    this.#numbers ??= findNumbers(this.message, this.#options.language);
    const others = [...findEmails(this.message), ...findIbans(this.message)];
    return free(this.#numbers, [...this.#taken, ...this.dates, ...this.times, ...others]);
  }

  /** All numbers, those of dates included: for answers to "how many days?". */
  get allNumbers(): readonly FoundNumber[] {
    this.#numbers ??= findNumbers(this.message, this.#options.language);
    return free(this.#numbers, this.#taken);
  }

  /** The ranges of typed values, for any slot. */
  get values(): readonly Span[] {
    const { message } = this;
    return [
      ...this.dates,
      ...this.#periods('past'),
      ...this.times,
      ...this.numbers,
      ...findEmails(message),
      ...findIbans(message),
    ];
  }

  /** The values in the message that fit a slot by their format; none for slots of kind `name` or `free`. */
  fitting(profile: SlotProfile, isAsked: boolean): readonly Found<JsonValue>[] {
    const found = this.#fitting(profile, isAsked);
    const meant = found.filter((one) => !isDenied(this.message, one));
    const [denied] = found;
    if (meant.length > 0 || denied === undefined || profile.kind !== 'category') return meant;
    // "Not the debit one": the other one of two values.
    const values = profile.slot.values ?? [];
    const [other, ...more] = values.filter((value) => !found.some((one) => one.value === value));
    return other === undefined || more.length > 0 ? [] : [{ ...denied, value: other }];
  }

  #fitting(profile: SlotProfile, isAsked: boolean): readonly Found<JsonValue>[] {
    const { message } = this;
    const { meanings } = this.#options;
    switch (profile.kind) {
      case 'number':
        return this.fittingNumbers(profile, isAsked);
      case 'category':
        return free(
          findCategories(message, profile.slot.values ?? [], {
            isAsked,
            isLenient: true,
            meanings,
          }),
          this.#taken,
        );
      case 'email':
        return free(findEmails(message), this.#taken);
      case 'phone':
        return free(findPhones(message), this.#taken);
      case 'iban':
        return free(findIbans(message), this.#taken);
      case 'date': {
        const edges = this.#edges(profile, isAsked);
        return edges.length > 0 ? edges : this.#datesOf(profile);
      }
      case 'time':
        return this.times.length > 0 || !isAsked ? this.times : hourAlone(message);
      case 'date-time':
        return this.#moments();
      case 'pattern':
        return this.#matching(profile, isAsked);
      case 'yes-no':
      case 'name':
      case 'free':
        return [];
    }
  }

  /**
   * Matches of the project's pattern. Without one, values of the slot's kind that match after
   * normalization, such as "DE02 1203 ..." without the spaces.
   */
  #matching(profile: SlotProfile, isAsked: boolean): readonly Found<JsonValue>[] {
    const { pattern, form } = profile;
    if (pattern === undefined) return [];
    const isText = form === 'name' || form === 'free';
    const formed = (isText ? [] : this.fitting({ ...profile, kind: form }, isAsked)).filter(
      ({ value }) =>
        typeof value === 'string' &&
        pattern.find(value).some(({ start, end }) => start === 0 && end === value.length),
    );
    const found = free(pattern.find(this.message.text), this.#taken);
    return found.length > 0 ? found : formed;
  }

  /** Like `fitting`, for slots of kind `number`. */
  fittingNumbers(profile: SlotProfile, isAsked: boolean): readonly FoundNumber[] {
    return this.#candidates(profile, isAsked)
      .filter((one) => !isDenied(this.message, one))
      .flatMap((one) => this.#taking(one, profile) ?? []);
  }

  /** A number that is ambiguous or has the wrong currency, if the message has no other for the slot. */
  unclearNumber(profile: SlotProfile): UnclearNumber | undefined {
    if (profile.kind !== 'number' || this.fittingNumbers(profile, true).length > 0)
      return undefined;
    const [one] = this.#candidates(profile, true);
    if (one === undefined) return undefined;
    if (one.alternative !== undefined)
      return { hint: 'separator', low: one.value, high: one.alternative };
    const { currency } = this.#options;
    return currency === undefined || !this.#isForeign(one, profile)
      ? undefined
      : { hint: 'currency', currency };
  }

  #candidates(profile: SlotProfile, isAsked: boolean): readonly FoundNumber[] {
    const { message } = this;
    // A slot for one group counts only that group: "adults" of "2 adults and 3 children".
    if (profile.isPeople && !message.tokens.some(({ stem }) => profile.names.has(stem))) {
      const [people] = free(findPeople(message), this.#taken);
      if (people !== undefined) return [{ ...people, isMoney: false, isWeak: false }];
    }
    const all = [...this.numbers, ...this.#durations(profile), ...findBoth(message)];
    const plain = all.filter((one) => isAsked || !one.isWeak || this.#counts(one, profile));
    return plain.length > 0 || !isAsked ? plain : this.allNumbers;
  }

  /** "A year and a half", for a slot that counts a unit of time. */
  #durations({ unit }: SlotProfile): FoundNumber[] {
    if (unit === undefined) return [];
    return free(findDurations(this.message), [...this.#taken, ...this.dates, ...this.numbers]);
  }

  /** "One flat tyre": whether a word of the slot follows the number. */
  #counts({ end }: FoundNumber, { names, described, isPeople }: SlotProfile): boolean {
    const after = this.message.tokens.filter((token) => token.start >= end).slice(0, 2);
    return after.some(
      ({ stem, folded }) =>
        names.has(stem) || described.has(stem) || (isPeople && isPeopleWord(folded)),
    );
  }

  #isForeign({ currency }: FoundNumber, { isMoney }: SlotProfile): boolean {
    const own = this.#options.currency;
    return isMoney && currency !== undefined && own !== undefined && currency !== own;
  }

  /**
   * Converts a number to the slot's unit; undefined for another currency, an ambiguous number, or a unit
   * that can't be converted.
   */
  #taking(one: FoundNumber, profile: SlotProfile): FoundNumber | undefined {
    if (one.alternative !== undefined || this.#isForeign(one, profile)) return undefined;
    const { unit } = one;
    if (profile.unit === undefined || unit === undefined || unit === profile.unit) return one;
    const value = converted(one.value, unit, profile.unit);
    return value === undefined ? undefined : { ...one, value };
  }

  /** A date, with the time of day when there is one: `2026-11-20T15:00`. */
  #moments(): Found<string>[] {
    const time = this.times[0];
    return this.dates.map((date) => {
      if (time === undefined) return date;
      const start = Math.min(date.start, time.start);
      return { value: `${date.value}T${time.value}`, start, end: Math.max(date.end, time.end) };
    });
  }
}
