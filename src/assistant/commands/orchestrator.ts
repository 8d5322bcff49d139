import type { JsonValue } from '../../protocol/index.ts';
import { coerceSlotValue } from '../domain/index.ts';
import type { Dialogue } from '../executor/index.ts';
import type { Command } from '../command.ts';
import { isEqual } from '../templates/index.ts';

/** A slot, as an orchestrator knows it. */
export type Seed = Command & { readonly command: 'set slot' };

/**
 * Slots that whoever sent the message knows already, as commands. Any slot of the project may be among
 * them, also those that no user fills: an orchestrator speaks for its users, and knows them. Unknown
 * slots and those of the engine are left out; values that do not fit are logged and left out.
 */
export function seedsOf(
  { domain, options }: Dialogue,
  slots: Readonly<Record<string, JsonValue>>,
): readonly Seed[] {
  return Object.entries(slots).flatMap(([name, given]): Seed[] => {
    const slot = domain.slots.get(name);
    if (slot === undefined || slot.builtin) return [];
    const isNothing = typeof given === 'string' && /^(none|null|undefined)$/i.test(given.trim());
    const coerced = coerceSlotValue(slot, isNothing ? null : given);
    if (!coerced.ok) {
      options.logger.warn({ slot: name }, 'a2a_server.message_adapter.skip_slot.invalid_value');
      return [];
    }
    return [{ command: 'set slot', name, value: coerced.value, by: 'orchestrator' }];
  });
}

/** Those that are news, and of which the user said nothing in the same message. */
export function newSeeds(
  { tracker }: Dialogue,
  seeds: readonly Seed[],
  understood: readonly Command[],
): readonly Command[] {
  const said = new Set(understood.flatMap((one) => (one.command === 'set slot' ? [one.name] : [])));
  return seeds.filter(({ name, value }) => !said.has(name) && !isEqual(value, tracker.slot(name)));
}
