import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pack, phrases, unpack } from './phrases.ts';

test('JSON text comes back as it was packed', () => {
  const words = fc.constantFrom(...phrases.values(), 'x', '"', '{', '}', ']', 'Z', '\u0001');
  const json = fc.oneof(
    fc.json(),
    // Phrases beside, within and instead of each other.
    fc.array(words, { maxLength: 12 }).map((all) => all.join('')),
    fc.array(words, { maxLength: 12 }).map((all) => JSON.stringify(all)),
  );
  fc.assert(fc.property(json, (text) => unpack(pack(text)) === text));
});

test('text that was stored without phrases is left alone', () => {
  expect(unpack('{"task":{"id":\u0001,\t"x":[\n1,\r2]}}')).toBe(
    '{"task":{"id":\u0001,\t"x":[\n1,\r2]}}',
  );
});

test('stored characters keep their meaning', () => {
  expect(unpack('\u0003\u0004\u0005\u0006\u0007\u0008')).toBe(
    '{"statusUpdate":{{"artifactUpdate":{,"status":{"state":"TASK_STATE_","timestamp":",' +
      '"artifact":{"artifactId":",' +
      '"parts":[{"text":"',
  );
  expect(unpack('\u000b\u000c\u000e\u000f\u0010\u0011\u0012\u0013')).toBe(
    '}]},"append":true,"lastChunk":false}}}]},"lastChunk":true}},"history":[{"messageId":",' +
      '"message":{"messageId":","role":"ROLE_USER","role":"ROLE_AGENT"Z"}}}' +
      '"taskId":\u0001,"contextId":\u0002',
  );
  expect(unpack('\u0014\u0015\u0016')).toBe(
    ',"status":{"state":"TASK_STATE_SUBMITTED","timestamp":"' +
      ',"status":{"state":"TASK_STATE_WORKING","timestamp":"' +
      ',"status":{"state":"TASK_STATE_COMPLETED","timestamp":"',
  );
});

test('every phrase has a character of its own, and is found although others are', () => {
  expect(new Set(phrases.values()).size).toBe(phrases.size);
  for (const [mark, phrase] of phrases) expect(pack(phrase)).toBe(mark);
});
