export { findEmails, findIbans, findPhones } from './found.ts';
export { dayAt, type Day, isoDay } from './dates.ts';
export { findCategories, wordsOf } from './categories.ts';
export { type DateOptions, findDates } from './dates.ts';
export { type Found, free } from './found.ts';
export { findNumbers, type FoundNumber } from './numbers.ts';
export { findTimes } from './times.ts';
export { afterYesNo, isBareYesNo, readYesNo } from './yes-no.ts';
