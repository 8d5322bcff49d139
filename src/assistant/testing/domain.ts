import type { Clock } from '../../agents/index.ts';
import type { Domain, Slot, SlotType } from '../model.ts';

/** Domains for tests without YAML. */

export function slot(name: string, type: SlotType = 'text', fields: Partial<Slot> = {}): Slot {
  return {
    name,
    type,
    initialValue: null,
    mappings: [{ type: 'from_llm', allow_nlu_correction: false }],
    builtin: false,
    ...fields,
  };
}

export function domain(slots: readonly Slot[], fields: Partial<Domain> = {}): Domain {
  return {
    slots: new Map(slots.map((one) => [one.name, one])),
    responses: new Map(),
    actions: new Map(),
    intents: [],
    entities: [],
    session: {
      sessionExpirationTime: 60,
      carryOverSlotsToNewSession: true,
      startSessionAfterExpiry: true,
    },
    raw: {},
    ...fields,
  };
}

/** A clock that only moves by `advance`. */
export class TestClock implements Clock {
  #now = 1_750_000_000_000;

  now(): number {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
