import type { JsonValue } from '../../protocol/index.ts';
import { coerceSlotValue } from '../domain/index.ts';
import type { Dialogue } from '../executor/index.ts';
import type { Command } from '../model.ts';
import { isEqual } from '../templates/index.ts';

/**
 * Slots that whoever sent the message knows already, as commands. Unknown slots and those of the
 * engine are left out, values that do not fit are logged and left out, and what the user said in
 * the same message counts more.
 */
export function orchestratorCommands(
  dialogue: Dialogue,
  slots: Readonly<Record<string, JsonValue>>,
  understood: readonly Command[],
): readonly Command[] {
  const { domain, tracker, options } = dialogue;
  const said = new Set(understood.flatMap((one) => (one.command === 'set slot' ? [one.name] : [])));
  return Object.entries(slots).flatMap(([name, given]): Command[] => {
    const slot = domain.slots.get(name);
    if (slot === undefined || slot.builtin || said.has(name)) return [];
    const isNothing = typeof given === 'string' && /^(none|null|undefined)$/i.test(given.trim());
    const coerced = coerceSlotValue(slot, isNothing ? null : given);
    if (!coerced.ok) {
      options.logger.warn({ slot: name }, 'a2a_server.message_adapter.skip_slot.invalid_value');
      return [];
    }
    const { value } = coerced;
    if (isEqual(value, tracker.slot(name))) return [];
    return [{ command: 'set slot', name, value, by: 'orchestrator' }];
  });
}
