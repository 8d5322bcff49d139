import { expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import type { ResponseVariation } from '../model.ts';
import { domain } from '../testing/domain.ts';
import { type Rephraser, Responder, type ResponseRequest } from './responder.ts';
import { selectVariation } from './variation.ts';

const conditional: ResponseVariation = { id: 'conditional', condition: 'yes' };
const plain: ResponseVariation = { id: 'plain' };
const onChat: ResponseVariation = { id: 'chat', channel: 'chat' };
const conditionalOnChat: ResponseVariation = { id: 'both', channel: 'chat', condition: 'yes' };
const all = [plain, conditional, onChat, conditionalOnChat];

function selected(
  variations: readonly ResponseVariation[],
  { channel = 'chat', holds = true, random = 0 } = {},
): string | undefined {
  return selectVariation(variations, { channel, holds: () => holds, random: () => random })?.id;
}

test.each([
  ['the channel and a condition that holds come first', all, {}, 'both'],
  ['then the channel alone', all, { holds: false }, 'chat'],
  ['then a condition that holds on any channel', all, { channel: 'rest' }, 'conditional'],
  ['then what has neither', all, { channel: 'rest', holds: false }, 'plain'],
  ['a variation for another channel is never said', [onChat], { channel: 'rest' }, undefined],
  [
    'a condition that does not hold rules a variation out',
    [conditional],
    { holds: false },
    undefined,
  ],
  ['equals take turns by chance', [plain, { id: 'other' }], { random: 0.99 }, 'other'],
])('selection: %s', (_, variations, options, expected) => {
  expect(selected(variations, options)).toBe(expected);
});

function respond(
  variation: ResponseVariation,
  request: Partial<ResponseRequest> = {},
  rephraser?: Rephraser,
) {
  const responder = new Responder({
    domain: domain([], { responses: new Map([['utter_x', [variation]]]) }),
    random: () => 0,
    logger: silentLogger,
    ...(rephraser !== undefined && { rephraser }),
  });
  return responder.respond({
    name: 'utter_x',
    channel: 'rest',
    slots: {},
    context: {},
    tracker: () => Promise.resolve({}),
    transcript: [],
    signal: new AbortController().signal,
    ...request,
  });
}

test('the plain style fills in slots and the values of actions, which go first', async () => {
  const slots = { name: 'Ada', amount: null, fee: 1 };
  const values: JsonObject = { fee: 2 };
  const message = await respond({ text: '{name} pays {amount} and {fee}' }, { slots, values });
  expect(message.text).toBe('Ada pays None and 2');
});

test('the template style sees slots, context and values', async () => {
  const variation = {
    text: '{{ slots.name | upper }} {{ context.flow }} {{ value }}',
    metadata: { template: 'jinja' },
  };
  const request = { slots: { name: 'ada' }, context: { flow: 'f' }, values: { value: 3 } };
  expect((await respond(variation, request)).text).toBe('ADA f 3');
});

test('text and buttons come in the language of the language slot', async () => {
  const variation = {
    text: 'Yes or no?',
    translation: { de: 'Ja oder nein?' },
    buttons: [{ title: 'Yes', payload: '/yes', translation: { de: { title: 'Ja' } } }],
  };
  expect(await respond(variation, { slots: { language: 'de' } })).toMatchObject({
    text: 'Ja oder nein?',
    buttons: [{ title: 'Ja', payload: '/yes' }],
  });
  expect((await respond(variation, { slots: { language: 'fr' } })).text).toBe('Yes or no?');
});

test('every field of a variation is filled in and the response is named', async () => {
  const slots = { id: 7 };
  const variation = {
    image: 'https://x/{id}.png',
    custom: { order: ['{id}'] },
    attachment: { url: '{id}' },
  };
  expect(await respond(variation, { slots })).toEqual({
    image: 'https://x/7.png',
    custom: { order: ['7'] },
    attachment: { url: '7' },
    metadata: { utter_action: 'utter_x' },
  });
});

test.each([
  ['no variation is eligible', { text: 'x', channel: 'voice' }],
  ['the template cannot be rendered', { text: '{{ 1 / }}', metadata: { template: 'jinja' } }],
  ['the condition cannot be read', { text: 'x', condition: 'slots. = (' }],
])('when %s, the internal-error response is said', async (_, variation) => {
  const message = await respond(variation);
  expect(message.metadata).toEqual({ utter_action: 'utter_internal_error_rasa' });
  expect(message.text).toMatch(/went wrong/);
});

const shout: Rephraser = { rephrase: async ({ text }) => text.toUpperCase() };

test('a response is rephrased only when it or the rephraser asks for it', async () => {
  expect((await respond({ text: 'hi' }, {}, shout)).text).toBe('hi');
  expect((await respond({ text: 'hi', metadata: { rephrase: true } }, {}, shout)).text).toBe('HI');
  const everything = { ...shout, rephraseAll: true };
  expect((await respond({ text: 'hi' }, {}, everything)).text).toBe('HI');
  const unwilling = { text: 'hi', metadata: { rephrase: false } };
  expect((await respond(unwilling, {}, everything)).text).toBe('hi');
});

test.each([
  ['fails', () => Promise.reject(new Error('model is down'))],
  ['answers nothing', () => Promise.resolve('  ')],
])('a rephraser that %s leaves the response as written', async (_, rephrase) => {
  const variation = { text: 'hi', metadata: { rephrase: true } };
  expect((await respond(variation, {}, { rephrase })).text).toBe('hi');
});
