import type { JsonValue } from '../../../protocol/index.ts';
import type { Message, Span } from '../words/words.ts';
import type { SlotProfile } from './slot-profile.ts';
import { findCategories } from './values/categories.ts';
import { type Day, findDates } from './values/dates.ts';
import { findEmails, findIbans, findPhones, type Found, free } from './values/found.ts';
import { findNumbers, type FoundNumber } from './values/numbers.ts';
import { findTimes } from './values/times.ts';

interface ReadingOptions {
  readonly today: Day;
  readonly dateOrder: 'day-month' | 'month-day';
  readonly language: string | undefined;
}

/**
 * The typed values of one message, each kind looked for once and only when a slot asks for it.
 * A stretch of text that became a value is taken, and no other slot gets it.
 */
export class Reading {
  readonly message: Message;
  readonly #options: ReadingOptions;
  readonly #taken: Span[] = [];
  #dates: Found<string>[] | undefined;
  #times: Found<string>[] | undefined;
  #numbers: FoundNumber[] | undefined;

  constructor(message: Message, options: ReadingOptions) {
    this.message = message;
    this.#options = options;
  }

  get taken(): readonly Span[] {
    return this.#taken;
  }

  take(span: Span): void {
    this.#taken.push({ start: span.start, end: span.end });
  }

  get dates(): readonly Found<string>[] {
    const { today, dateOrder } = this.#options;
    this.#dates ??= findDates(this.message, { today, order: dateOrder });
    return free(this.#dates, this.#taken);
  }

  get times(): readonly Found<string>[] {
    this.#times ??= findTimes(this.message);
    return free(this.#times, this.#taken);
  }

  /** Numbers that are no part of a date, a time or an address. */
  get numbers(): readonly FoundNumber[] {
    this.#numbers ??= findNumbers(this.message, this.#options.language);
    const others = [...findEmails(this.message), ...findIbans(this.message)];
    return free(this.#numbers, [...this.#taken, ...this.dates, ...this.times, ...others]);
  }

  /** Every number, those of dates included: for the answer to "how many days?". */
  get allNumbers(): readonly FoundNumber[] {
    this.#numbers ??= findNumbers(this.message, this.#options.language);
    return free(this.#numbers, this.#taken);
  }

  /** Where typed values stand, for whatever slot. */
  get values(): readonly Span[] {
    const { message } = this;
    return [
      ...this.dates,
      ...this.times,
      ...this.numbers,
      ...findEmails(message),
      ...findIbans(message),
    ];
  }

  /** The values in the message that fit a slot by their form; not for short or free texts. */
  fitting(profile: SlotProfile, isAsked: boolean): readonly Found<JsonValue>[] {
    const { message } = this;
    switch (profile.kind) {
      case 'number':
        return this.fittingNumbers(isAsked);
      case 'category':
        return free(findCategories(message, profile.slot.values ?? [], { isAsked }), this.#taken);
      case 'email':
        return free(findEmails(message), this.#taken);
      case 'phone':
        return free(findPhones(message), this.#taken);
      case 'iban':
        return free(findIbans(message), this.#taken);
      case 'date':
        return this.dates;
      case 'time':
        return this.times;
      case 'date-time':
        return this.#moments();
      case 'pattern':
        return free(profile.pattern?.find(message.text) ?? [], this.#taken);
      case 'yes-no':
      case 'name':
      case 'free':
        return [];
    }
  }

  /** As `fitting`, for slots of kind `number`. */
  fittingNumbers(isAsked: boolean): readonly FoundNumber[] {
    const plain = this.numbers.filter((one) => isAsked || !one.isWeak);
    return plain.length > 0 || !isAsked ? plain : this.allNumbers;
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
