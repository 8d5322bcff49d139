import { expect, test } from 'vitest';
import { readMessage } from '../../words/words.ts';
import { findCategories } from './categories.ts';
import { findPeople } from './people.ts';
import { findEmails, findIbans, findPhones } from './found.ts';
import { afterYesNo, readYesNo } from './yes-no.ts';

test.each([
  ['Yes', true],
  ['yes please', true],
  ['yeah sure', true],
  ['yep!', true],
  ['y', true],
  ['ok', true],
  ['okay, go ahead', true],
  ['sure thing', true],
  ['of course', true],
  ["that's right", true],
  ["that's correct, thanks", true],
  ['correct', true],
  ['sounds good', true],
  ['looks good to me', true],
  ['please do', true],
  ['do it', true],
  ['go for it', true],
  ['I do', true],
  ['I think so', true],
  ['absolutely', true],
  ['why not', true],
  ['no problem', true],
  ['👍', true],
  ['um, yes', true],
  ['book it', true],
  ['please send that now', true],
  ['no', false],
  ['No.', false],
  ['nope', false],
  ['nah', false],
  ['n', false],
  ['no thanks', false],
  ['no thank you', false],
  ['not really', false],
  ['not yet', false],
  ['not now', false],
  ["I don't think so", false],
  ["no, that's all", false],
  ["that's all", false],
  ["that's everything", false],
  ["I'm good", false],
  ["I'm done", false],
  ['nothing else', false],
  ["that's wrong", false],
  ["that's not right", false],
  ['incorrect', false],
  ['no way', false],
  ["I'd rather not", false],
  ['👎', false],
  ['well, no', false],
  ['Bob', undefined],
  ['fifty euros', undefined],
  ['show me my balance', undefined],
  ['', undefined],
])('yes or no: %s', (text, expected) => {
  expect(readYesNo(readMessage(text))).toBe(expected);
});

test('what follows a yes or no', () => {
  const after = afterYesNo(readMessage('No, to Bob'));
  expect([after?.value, after?.rest.text]).toEqual([false, 'to Bob']);
  expect(afterYesNo(readMessage('to Bob'))).toBeUndefined();
});

test.each([
  ['ann@example.com', ['ann@example.com']],
  ['It is Ann.Lee+bank@Mail.Example.co.uk, ok?', ['ann.lee+bank@mail.example.co.uk']],
  ['a@b', []],
  ['@home', []],
])('e-mail: %s', (text, expected) => {
  expect(findEmails(readMessage(text)).map((one) => one.value)).toEqual(expected);
});

test.each([
  ['+49 170 1234567', ['+491701234567']],
  ['call (555) 123-4567', ['5551234567']],
  ['0044 20 7946 0958', ['00442079460958']],
  ['12345', []],
  ['2026-13-45', []],
  ['31.02.2026', []],
  ['send 50', []],
])('phone: %s', (text, expected) => {
  expect(findPhones(readMessage(text)).map((one) => one.value)).toEqual(expected);
});

test.each([
  ['DE89 3704 0044 0532 0130 00', ['DE89370400440532013000']],
  ['gb82west12345698765432', ['GB82WEST12345698765432']],
  ['no account here', []],
])('account number: %s', (text, expected) => {
  expect(findIbans(readMessage(text)).map((one) => one.value)).toEqual(expected);
});

const accounts = ['savings account', 'checking account', 'credit_card'];
test.each([
  ['savings account', ['savings account']],
  ['the Savings Account please', ['savings account']],
  ['savings', ['savings account']],
  ['my saving', ['savings account']],
  ['chekcing', ['checking account']],
  ['credit card', ['credit_card']],
  ['credit-cards', ['credit_card']],
  ['from savings account to checking account', ['savings account', 'checking account']],
  ['account', []],
  ['gold', []],
])('category, asked: %s', (text, expected) => {
  const found = findCategories(readMessage(text), accounts, { isAsked: true });
  expect(found.map((one) => one.value)).toEqual(expected);
});

test.each([
  ['put it on my credit card', ['credit_card']],
  ['savings', []],
  ['chekcing account', []],
])('category, not asked, only by its full name: %s', (text, expected) => {
  const found = findCategories(readMessage(text), accounts, { isAsked: false });
  expect(found.map((one) => one.value)).toEqual(expected);
});

test.each([
  ['4 adults and 2 kids', 6],
  ['me and five friends', 6],
  ['3 adults and a child', 4],
  ['2 adults, 2 kids and a baby', 5],
  ['me and my wife', 2],
  ['just me', 1],
  ['me and my wife and our 2 kids', 4],
  ['my wife, my two kids and I', 4],
  ['me, my wife and 3 friends', 5],
  ['I want a table for 4 adults and 2 kids', 6],
  ['4 people', undefined],
  ['4 people at table 2', undefined],
])('people who are counted by name: %s', (text, expected) => {
  expect(findPeople(readMessage(text))[0]?.value).toBe(expected);
});

test.each([
  ['my eletric bike', ['electric']],
  ['my e-bike', ['electric']],
  ['a city bike', ['city']],
  ['a bike', []],
])('category, not asked, leniently: %s', (text, expected) => {
  const bikes = ['city', 'racing', 'electric'];
  const found = findCategories(readMessage(text), bikes, { isAsked: false, isLenient: true });
  expect(found.map((one) => one.value)).toEqual(expected);
});

test('values that are not text are found by how they are written', () => {
  const found = findCategories(readMessage('number 3 it is'), [1, 2, 3], { isAsked: true });
  expect(found.map((one) => one.value)).toEqual([3]);
});
