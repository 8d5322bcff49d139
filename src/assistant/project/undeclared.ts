import type { Use } from '../domain/uses.ts';
import { defaultActionNames } from '../executor/run-action.ts';
import type { DeclaredAction, Domain, Slot } from '../model.ts';

/**
 * Adds actions and slots that flows use and the domain doesn't declare. `validate` reports them as errors,
 * but the project can run: an action server may have the action, and the slot accepts any value.
 */
export function withUndeclared(domain: Domain, uses: readonly Use[]): Domain {
  const actions = new Map<string, DeclaredAction>();
  const slots = new Map<string, Slot>();
  for (const use of uses) {
    if (use.flow === undefined) continue;
    const { kind } = use;
    if (kind === 'action' && !isKnown(domain, use.name)) {
      actions.set(use.name, { name: use.name, sendDomain: false });
    } else if (kind === 'slot' && !domain.slots.has(use.name)) {
      slots.set(use.name, undeclaredSlot(use.name));
    }
  }
  return {
    ...domain,
    actions: new Map([...domain.actions, ...actions]),
    slots: new Map([...domain.slots, ...slots]),
  };
}

function isKnown({ actions, forms, responses }: Domain, name: string): boolean {
  if (forms?.has(name) === true) return true;
  const isResponse = responses.has(name) || name.startsWith('utter_');
  return isResponse || actions.has(name) || defaultActionNames.has(name);
}

function undeclaredSlot(name: string): Slot {
  return {
    name,
    type: 'any',
    initialValue: null,
    mappings: [{ type: 'from_llm', allow_nlu_correction: false }],
    builtin: false,
  };
}
