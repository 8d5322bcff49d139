import { expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { served, stateOf, wordsOf } from './testing/served.ts';

const text = (words: string) => ({ kind: 'text', text: words });
const data = (slots: JsonObject) => ({ kind: 'data', data: { slots } });

test('slots in the text are taken out of it, and the flow need not ask for them', async () => {
  await using house = await served();
  const task = await house.say('water a plant\nSLOTS: {"plant": "Monstera", "litres": 5}', {
    contextId: 'c',
  });
  expect(task.status.state).toBe('completed');
  expect(wordsOf(task)[0]).toBe('Monstera got 5 litres.');
  const { events } = await house.tracker('c');
  expect(events.find(({ event }) => event === 'user')).toMatchObject({ text: 'water a plant' });
});

test('a data part goes before metadata, and metadata before the text', async () => {
  await using house = await served();
  const task = await house.say('', {
    contextId: 'c',
    parts: [text('water a plant\nSLOTS: {"plant": "text", "litres": 1}'), data({ plant: 'data' })],
    metadata: { slots: { plant: 'metadata', litres: 2 } },
  });
  expect(wordsOf(task)[0]).toBe('data got 2 litres.');
});

test('what the user says in the message goes before what the orchestrator knows', async () => {
  await using house = await served();
  const task = await house.say('water the Ficus', {
    contextId: 'c',
    metadata: { slots: { plant: 'Monstera', litres: 3 } },
  });
  expect(wordsOf(task)[0]).toBe('Ficus got 3 litres.');
});

test('unknown and builtin slots are ignored, values coerced, bad ones skipped and told', async () => {
  await using house = await served();
  const task = await house.say('', {
    contextId: 'c',
    parts: [
      text('water a plant'),
      data({ litres: '7', shade: 'purple', nothing: 1, language: 'de', __proto__: 1 }),
    ],
  });
  expect(stateOf(task)['slots']).toEqual({ litres: 7, watered: 0 });
  expect(house.logged).toContain('a2a_server.message_adapter.skip_slot.invalid_value');
  const { slots } = await house.tracker('c');
  expect(slots).toMatchObject({ language: null, shade: null });
});

test.each(['none', 'null', 'undefined', 'None'])('the value %s empties a slot', async (nothing) => {
  await using house = await served();
  await house.say('water the Monstera', { contextId: 'c' });
  const task = await house.say('', {
    contextId: 'c',
    parts: [text('what was that?'), data({ plant: nothing })],
  });
  expect(stateOf(task)['slots']).toEqual({ watered: 0 });
});

test('follow-ups bring slots as well', async () => {
  await using house = await served();
  await house.say('water a plant', { contextId: 'c' });
  const task = await house.say('Monstera', { contextId: 'c', metadata: { slots: { litres: 4 } } });
  expect(task.status.state).toBe('completed');
  expect(wordsOf(task)[0]).toBe('Monstera got 4 litres.');
});
