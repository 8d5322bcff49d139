import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromPayload, toPayloads } from './notices.ts';

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
        return [...(fromPayload(payload)?.changes ?? [])];
      });
      expect(heard).toEqual([...told]);
    }),
  );
});

test('a greeting tells of no change', () => {
  expect(toPayloads('me', new Map()).map(fromPayload)).toEqual([{ origin: 'me', changes: [] }]);
});

test('whatever else comes on the channel is no notice', () => {
  for (const payload of ['', 'x', '{}', '[]', '[1]', '["a",1]', '["a",["t"]]', '["a",[1,2]]']) {
    expect(fromPayload(payload)).toBeUndefined();
  }
  fc.assert(fc.property(fc.json(), (text) => void fromPayload(text)));
});
