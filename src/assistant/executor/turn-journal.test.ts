import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Journal } from '../../agents/index.ts';
import type { JsonValue } from '../../protocol/index.ts';
import { OutcomeUnknown, TurnJournal } from './turn-journal.ts';

/** A journal in memory. Writes fail while `isDown`. */
class MemoryJournal implements Journal {
  readonly #entries = new Map<string, JsonValue>();
  isDown = false;

  async read(key: string): Promise<JsonValue | undefined> {
    return this.#entries.get(key);
  }

  async claim(key: string, value: JsonValue): Promise<boolean> {
    if (this.#entries.has(key)) return false;
    this.#entries.set(key, value);
    return true;
  }

  async write(key: string, value: JsonValue): Promise<void> {
    if (this.isDown) throw new Error('the store is down');
    this.#entries.set(key, value);
  }
}

const transfer = (run: () => Promise<string>) => ({ name: 'transfer', schema: z.string(), run });
const never = new AbortController().signal;

test('a rerun reuses the result or the failure of an effect', async () => {
  const store = new MemoryJournal();
  const first = new TurnJournal(store, never);
  expect(await first.once(transfer(async () => 'paid'))).toBe('paid');
  const failing = first.once(transfer(() => Promise.reject(new Error('no funds'))));
  await expect(failing).rejects.toThrow('no funds');
  const rerun = new TurnJournal(store, never);
  expect(await rerun.once(transfer(async () => 'paid twice'))).toBe('paid');
  await expect(rerun.once(transfer(async () => 'paid'))).rejects.toThrow('no funds');
});

test('the outcome of an effect is unknown if its result could not be journaled', async () => {
  const store = new MemoryJournal();
  const journal = new TurnJournal(store, never);
  const paying = journal.once(
    transfer(async () => {
      store.isDown = true;
      return 'paid';
    }),
  );
  await expect(paying).rejects.toThrow(OutcomeUnknown);
  store.isDown = false;
  const rerun = new TurnJournal(store, never).once(transfer(async () => 'paid twice'));
  await expect(rerun).rejects.toThrow(OutcomeUnknown);
});

test('the outcome of an effect is unknown after an abort, whatever error the abort causes', async () => {
  const store = new MemoryJournal();
  const stopping = new AbortController();
  const paying = new TurnJournal(store, stopping.signal).once(
    transfer(() => {
      stopping.abort();
      return Promise.reject(new Error('the connection was closed'));
    }),
  );
  await expect(paying).rejects.toThrow('the connection was closed');
  const rerun = new TurnJournal(store, never).once(transfer(async () => 'paid twice'));
  await expect(rerun).rejects.toThrow(OutcomeUnknown);
});

test('a timeout within an effect is a failure', async () => {
  const store = new MemoryJournal();
  const run = () => Promise.reject(AbortSignal.abort().reason as Error);
  const failing = new TurnJournal(store, never).once(transfer(run));
  await expect(failing).rejects.toThrow('aborted');
  const rerun = new TurnJournal(store, never).once(transfer(async () => 'paid'));
  await expect(rerun).rejects.not.toThrow(OutcomeUnknown);
});
