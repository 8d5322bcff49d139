import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Json, type StreamResponse } from '../protocol/index.ts';
import { expand, fromEventRows, shorten, toEventRows } from './event-rows.ts';
import { phrases } from './phrases.ts';

const pieces = [...phrases.keys(), ...phrases.values(), '\u0001', '\u0002', '\n', '\\', '"', '$&'];
const text = fc
  .array(fc.constantFrom(...pieces, '\0', '\\u0003', '\ud800', 'id', 'é'), { maxLength: 8 })
  .map((parts) => parts.join(''));
const ids = fc.record({ id: text, contextId: fc.oneof(text, fc.constant('id')) });

/** Objects that look like events only from afar: rows hold any JSON. */
const body = fc.dictionary(text, fc.oneof(text, fc.dictionary(text, text, { maxKeys: 3 })));

test('events come back as they were written, whatever ids and texts contain', () => {
  fc.assert(
    fc.property(ids, fc.array(body, { maxLength: 20 }), (task, bodies) => {
      const { id: taskId, contextId } = task;
      const written = bodies.map((each) => JSON.stringify({ ...each, taskId, contextId }));
      const events = written.map((line, index) => ({
        sequence: index + 1,
        body: Json.fromText<StreamResponse>(line),
      }));
      const read = fromEventRows(task, toEventRows(task, events));
      expect(read.map(({ sequence }) => sequence)).toEqual(events.map(({ sequence }) => sequence));
      expect(read.map(({ body }) => body.text)).toEqual(written);
    }),
  );
});

test('a snapshot keeps its white space', () => {
  const spaces = fc.constantFrom('', ' ', '\n', '\t', '\r\n');
  fc.assert(
    fc.property(ids, body, spaces, (task, value, space) => {
      const snapshot = JSON.stringify({ ...value, ...task }, null, space).replaceAll(
        '\n',
        `\n${space}`,
      );
      expect(expand(task, shorten(task, snapshot))).toBe(snapshot);
    }),
  );
});
