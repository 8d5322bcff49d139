import { expect, test } from 'vitest';
import { readConsent } from './consent.ts';

test.each([
  'yes',
  'Yes!',
  'yes please',
  'Yes, go ahead.',
  'go ahead',
  'OK, do it',
  'sure, thanks',
  'sounds good',
  "that's fine",
  'oui',
  'はい。',
  'ja bitte',
  '👍',
  'no problem',
])('"%s" is a yes', (text) => {
  expect(readConsent(text)).toEqual({ meaning: 'yes', saysMore: false });
});

test.each([
  'no',
  'Nope.',
  'no thanks',
  "please don't",
  'Don’t do it!',
  'not now',
  'nein danke',
  'cancel that',
])('"%s" is a no', (text) => {
  expect(readConsent(text)).toEqual({ meaning: 'no', saysMore: false });
});

test('a no that goes on is a no, and the rest is for the model', () => {
  expect(readConsent('no, send it to Bob')).toEqual({ meaning: 'no', saysMore: true });
});

test.each([
  'yes, but only half of it',
  'yes?',
  'yes no',
  'what is this?',
  'hm',
  'please',
  '',
  'not yes',
  'true story',
])('"%s" is unclear', (text) => {
  expect(readConsent(text).meaning).not.toBe('yes');
});
