import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Acknowledgements } from './acknowledgements.ts';

/** A channel as the broker keeps it: what was delivered and neither acknowledged nor given back. */
class Broker {
  active = true;
  readonly outstanding = new Set<number>();
  readonly acknowledged = new Set<number>();
  words = 0;

  deliver(count: number): void {
    for (let tag = 1; tag <= count; tag += 1) this.outstanding.add(tag);
  }

  basicAck({ deliveryTag, multiple = false }: { deliveryTag: number; multiple?: boolean }): void {
    this.words += 1;
    if (!this.outstanding.has(deliveryTag)) throw new Error(`unknown delivery tag ${deliveryTag}`);
    for (const tag of multiple ? this.outstanding : [deliveryTag]) {
      if (tag > deliveryTag) continue;
      this.outstanding.delete(tag);
      this.acknowledged.add(tag);
    }
  }

  basicNack({ deliveryTag }: { deliveryTag: number }): void {
    if (!this.outstanding.delete(deliveryTag)) throw new Error(`unknown tag ${deliveryTag}`);
  }
}

test('whatever is done, given back or forgotten, in any order: what is done is told, and nothing else', () => {
  const step = fc.tuple(fc.nat({ max: 29 }), fc.constantFrom('done', 'release', 'flush' as const));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const broker = new Broker();
      broker.deliver(30);
      const acknowledgements = new Acknowledgements(broker);
      const settled = new Map<number, string>();
      for (const [index, what] of steps) {
        const tag = index + 1;
        if (what === 'flush') acknowledgements.flush();
        else if (!settled.has(tag)) {
          settled.set(tag, what);
          acknowledgements[what](tag);
        }
      }
      acknowledgements.flush();
      const done = [...settled].filter(([, what]) => what === 'done').map(([tag]) => tag);
      expect([...broker.acknowledged].toSorted((a, b) => a - b)).toEqual(
        done.toSorted((a, b) => a - b),
      );
      expect(broker.outstanding.size).toBe(30 - settled.size);
    }),
  );
});

test('what is done in one go is told in one word', () => {
  const broker = new Broker();
  broker.deliver(100);
  const acknowledgements = new Acknowledgements(broker);
  for (let tag = 1; tag <= 100; tag += 1) acknowledgements.done(tag);
  acknowledgements.flush();
  expect(broker).toMatchObject({ words: 1, outstanding: new Set() });
});

test('a channel that is lost is told nothing', () => {
  const broker = new Broker();
  broker.deliver(2);
  const acknowledgements = new Acknowledgements(broker);
  acknowledgements.done(1);
  broker.active = false;
  acknowledgements.release(2);
  acknowledgements.flush();
  expect(broker.outstanding.size).toBe(2);
});
