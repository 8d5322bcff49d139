import { assert, jsonValue, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { data, type JsonObject, message, text } from '../../protocol/index.ts';
import { readSeeds } from './a2a.ts';

const seeds = (
  content: Parameters<typeof message>[0],
  metadata?: JsonObject,
  request: JsonObject = {},
) => readSeeds(message(content, metadata === undefined ? {} : { metadata }), request);

test('slots on a line of their own are taken out of the text', () => {
  expect(seeds('send money\nSLOTS: {"amount": 50}\nplease')).toMatchObject({
    text: 'send money\n\nplease',
    slots: { amount: 50 },
  });
});

test('slots in a fenced block at the end are taken out of the text', () => {
  expect(seeds('send money\n```json\n{"amount": 50}\n```')).toMatchObject({
    text: 'send money',
    slots: { amount: 50 },
  });
});

test('what only looks like slots stays in the text', () => {
  for (const said of [
    'SLOTS: {amount}',
    'SLOTS: [1]',
    '```json\n{"a": 1}\n``` and then',
    'my SLOTS: {"a": 1}',
  ]) {
    expect(seeds(said)).toMatchObject({ text: said, slots: {} });
  }
});

test('a data part goes before metadata, metadata before the text, the message before the request', () => {
  const slots = (value: string, ...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, value]));
  const { slots: read } = seeds(
    [
      text(`hi\nSLOTS: ${JSON.stringify(slots('text', 'a', 'b', 'c', 'd'))}`),
      data({ slots: slots('data', 'd') }),
    ],
    { slots: slots('metadata', 'c', 'd') },
    { slots: slots('request', 'b', 'c', 'd') },
  );
  expect(read).toEqual({ a: 'text', b: 'request', c: 'metadata', d: 'data' });
});

test('other data and metadata are left alone', () => {
  expect(
    seeds([text('hi'), data({ other: 1 }), data([1]), data(null)], { slots: 'no', user: 'u' }),
  ).toEqual({
    text: 'hi',
    slots: {},
    metadata: { slots: 'no', user: 'u' },
  });
});

test('no text makes reading fail, however long or odd', () => {
  assert(
    property(string({ unit: 'binary' }), jsonValue(), (said, value) => {
      const { slots } = seeds([text(said), data({ slots: value as never })]);
      expect(Object.getPrototypeOf(slots)).toBe(Object.prototype);
    }),
  );
});
