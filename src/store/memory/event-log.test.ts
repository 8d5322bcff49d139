import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Json, type StreamResponse } from '../../protocol/index.ts';
import type { LogEvent } from '../contract.ts';
import { EventLog } from './event-log.ts';

function event(sequence: number): LogEvent {
  const parts = [{ text: `line ${sequence}\nand "another" – ü` }];
  return { sequence, body: Json.of<StreamResponse>({ message: messageOf(sequence, parts) }) };
}

function messageOf(sequence: number, parts: readonly { text: string }[]) {
  return { messageId: `m${sequence}`, role: 'ROLE_AGENT' as const, parts };
}

function toPlain(events: readonly LogEvent[]): readonly unknown[] {
  return events.map(({ sequence, body }) => ({ sequence, body: body.value }));
}

test('any stretch of a log reads as it was written, open or sealed', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.nat({ max: 70 }),
      fc.oneof(fc.constant(Infinity), fc.nat({ max: 70 })),
      fc.boolean(),
      (length, after, limit, isSealed) => {
        const events = Array.from({ length }, (_, index) => event(index + 1));
        const [first, ...others] = events;
        if (first === undefined) throw new Error('a log has at least one event');
        const log = new EventLog(first);
        for (const each of others) log.push(each);
        if (isSealed) log.seal();
        expect(toPlain(log.after(after, limit))).toEqual(
          toPlain(events.slice(after, after + limit)),
        );
      },
    ),
  );
});
