import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromPayload, toInterest, toPayloads } from './notices.ts';

test('what is told arrives, in payloads that PostgreSQL takes', () => {
  const changes = fc.array(fc.tuple(fc.string({ maxLength: 60, unit: 'binary' }), fc.nat()), {
    maxLength: 400,
    size: 'max',
  });
  fc.assert(
    fc.property(changes, (list) => {
      const told = new Map(list);
      const payloads = toPayloads('me', told);
      const heard = payloads.flatMap((payload) => {
        expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
        expect(fromPayload(payload)?.origin).toBe('me');
        const notice = fromPayload(payload);
        return notice?.kind === 'changes' ? [...notice.changes] : [];
      });
      expect(heard).toEqual([...told]);
    }),
  );
});

test('what a store follows arrives, in payloads that PostgreSQL takes', () => {
  const taskIds = Array.from({ length: 2_000 }, (_, index) => `follow-${index}`);
  const notices = toInterest('me', 'follow', taskIds).map((payload) => {
    expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
    return fromPayload(payload);
  });
  expect(notices.length).toBeGreaterThan(1);
  expect(notices.flatMap((notice) => (notice?.kind === 'follow' ? notice.taskIds : []))).toEqual(
    taskIds,
  );
});

test('a greeting reports no change', () => {
  expect(toPayloads('me', new Map()).map(fromPayload)).toEqual([
    { kind: 'changes', origin: 'me', changes: [] },
  ]);
});

test('other payloads on the channel are ignored', () => {
  for (const payload of [
    '',
    'x',
    '{}',
    '[]',
    '[1]',
    '["a",1]',
    '["a",["t"]]',
    '["a",[1,2]]',
    '["a","follow",1]',
  ]) {
    expect(fromPayload(payload)).toBeUndefined();
  }
  fc.assert(fc.property(fc.json(), (text) => void fromPayload(text)));
});
