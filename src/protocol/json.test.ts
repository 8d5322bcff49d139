import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { Json } from './json.ts';

test('a value and its text stand for each other, each made once', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const stringify = vi.spyOn(JSON, 'stringify');
  const [read, made] = [Json.fromText<{ a: number }>('{"a":1}'), Json.of({ a: 1 })];
  expect([read.isParsed, made.isParsed]).toEqual([false, true]);
  for (const json of [read, made, read, made]) {
    expect(json.value).toEqual({ a: 1 });
    expect(json.text).toBe('{"a":1}');
    expect(json.isParsed).toBe(true);
  }
  expect([parse.mock.calls.length, stringify.mock.calls.length]).toEqual([1, 1]);
  vi.restoreAllMocks();
});

test('the event that starts a log has the text that its value would have', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (task) => {
      for (const json of [Json.of(task), Json.fromText<typeof task>(JSON.stringify(task))]) {
        const event = Json.ofTask(json);
        expect(event.text).toBe(JSON.stringify({ task }));
        expect(event.value).toEqual({ task: json.value });
      }
    }),
  );
});
