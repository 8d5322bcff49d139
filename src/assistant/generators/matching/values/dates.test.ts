import { expect, test } from 'vitest';
import { readMessage } from '../../words/words.ts';
import { dayAt, findDates } from './dates.ts';
import { findPeriods } from './periods.ts';
import { findTimes } from './times.ts';

/** A Sunday. */
const today = { year: 2026, month: 11, day: 15 };
const dates = (text: string): string[] =>
  findDates(readMessage(text), { today }).map((one) => one.value);

test.each([
  ['today', ['2026-11-15']],
  ['Tomorrow please', ['2026-11-16']],
  ['the day after tomorrow', ['2026-11-17']],
  ['yesterday', ['2026-11-14']],
  ['friday', ['2026-11-20']],
  ['on fri', ['2026-11-20']],
  ['next friday', ['2026-11-20']],
  ['this friday', ['2026-11-20']],
  ['sunday', ['2026-11-15']],
  ['next sunday', ['2026-11-22']],
  ['last friday', ['2026-11-13']],
  ['2026-11-20', ['2026-11-20']],
  ['20/11/2026', ['2026-11-20']],
  ['11/20/2026', ['2026-11-20']],
  ['03/04/2027', ['2027-04-03']],
  ['20.11.2026', ['2026-11-20']],
  ['20.11.26', ['2026-11-20']],
  ['20 Nov', ['2026-11-20']],
  ['Nov 20', ['2026-11-20']],
  ['20th of November 2027', ['2027-11-20']],
  ['November 20th, 2027', ['2027-11-20']],
  ['1 March', ['2027-03-01']],
  ['in 3 days', ['2026-11-18']],
  ['in two weeks', ['2026-11-29']],
  ['in a month', ['2026-12-15']],
  ['in a fortnight', ['2026-11-29']],
  ['3 days from now', ['2026-11-18']],
  ['a week ago', ['2026-11-08']],
  ['next week', ['2026-11-22']],
  ['next month', ['2026-12-15']],
  ['end of the month', ['2026-11-30']],
  ['the 20th', ['2026-11-20']],
  ['on the 3rd', ['2026-12-03']],
  ['the 31st', ['2026-12-31']],
  ['from 2026-11-20 to 2026-11-25', ['2026-11-20', '2026-11-25']],
  ['from friday to sunday', ['2026-11-20', '2026-11-15']],
  ['between 20 and 25 november', ['2026-11-20', '2026-11-25']],
  ['2026-02-30', []],
  ['31 February', []],
  ['I may come', []],
  ['the sun is out', []],
  ['send 50 to Bob', []],
])('%s', (text, expected) => {
  expect(dates(text)).toEqual(expected);
});

test.each([
  ['12/05/85', '1985-05-12'],
  ['1.1.26', '2026-01-01'],
  ['15/11/26', '2026-11-15'],
  ['16/11/26', '1926-11-16'],
  // 2000 is a leap year, and 1900 is not.
  ['29/02/00', '2000-02-29'],
  ['16/11/2030', '2030-11-16'],
])('a year of two digits is past if the date must be: %s', (text, expected) => {
  const found = findDates(readMessage(text), { today, prefers: 'past' });
  expect(found.map(({ value }) => value)).toEqual([expected]);
});

test('the order of day and month can be chosen', () => {
  const found = findDates(readMessage('03/04/2027'), { today, order: 'month-day' });
  expect(found[0]?.value).toBe('2027-03-04');
});

test('the 31st plus a month is the last day of the next', () => {
  const found = findDates(readMessage('in a month'), { today: { year: 2026, month: 1, day: 31 } });
  expect(found[0]?.value).toBe('2026-02-28');
});

test('today depends on the time zone', () => {
  const moment = Date.UTC(2026, 10, 15, 23, 30);
  expect(dayAt(moment, 'UTC').day).toBe(15);
  expect(dayAt(moment, 'Asia/Tokyo').day).toBe(16);
});

test.each([
  ['at 3pm', ['15:00']],
  ['3 pm', ['15:00']],
  ['12am', ['00:00']],
  ['12 pm', ['12:00']],
  ['15:30', ['15:30']],
  ['at 9:05 am', ['09:05']],
  ["9 o'clock", ['09:00']],
  ['at noon', ['12:00']],
  ['midnight', ['00:00']],
  ['50 euros', []],
  ['25:00', []],
  ['half past seven', ['07:30']],
  ['at 15.30', ['15:30']],
  ['7.30 pm', ['19:30']],
  ['send 15.30 euros', []],
  ["7 o'clock in the evening", ['19:00']],
  ['quarter to 8 pm', ['19:45']],
  ['half past nothing', []],
  ['half past two', ['14:30']],
  ['quarter to one', ['12:45']],
  ['half past two in the morning', ['02:30']],
  ['half past 2 am', ['02:30']],
])('time: %s', (text, expected) => {
  expect(findTimes(readMessage(text)).map((one) => one.value)).toEqual(expected);
});

test.each([
  ['in October', ['2026-10-01 2026-10-31']],
  ['between January and March', ['2026-01-01 2026-03-31']],
  ['from November to January', ['2025-11-01 2026-01-31']],
  ['last year', ['2025-01-01 2025-12-31']],
  ['for 2025', ['2025-01-01 2025-12-31']],
  ['a loan for 2000 euros', []],
  ['for 2025.50', []],
])('period, looking back: %s', (text, expected) => {
  const found = findPeriods(readMessage(text), { today, prefers: 'past' });
  expect(found.map(({ value }) => `${value.start} ${value.end}`)).toEqual(expected);
});
