import { type Field, suggest } from '../../../config/index.ts';
import { defaultActions } from '../../domain/index.ts';
import type { Slot } from '../../model.ts';
import { usesOf, type ValidationScope } from './scope.ts';

/** Slots, responses, actions, model groups and servers must exist and be fit for their use. */
export function validateNames(scope: ValidationScope): void {
  const { domain, isComplete, modelGroups, mcpServers } = scope;
  for (const use of usesOf(scope, 'slot')) {
    const { field, name } = use;
    const slot = domain.slots.get(name);
    if (name === 'dialogue_stack') field.error('slot "dialogue_stack" belongs to the engine');
    else if (slot === undefined) unknown(scope, field, 'slot', name, domain.slots.keys());
    else if (slot.type === 'list' && (use.as === 'collect' || use.as === 'set_slots')) {
      field.error(`a slot of type list cannot be used in ${use.as}`, 'set it from a custom action');
    }
    if (slot !== undefined && use.as === 'collect') {
      validateAsking(scope, field, name, use.utter);
      validateAnswering(scope, field, slot, use.utter);
    }
  }
  for (const { field, name } of usesOf(scope, 'response')) {
    if (!domain.responses.has(name)) {
      unknown(scope, field, 'response', name, domain.responses.keys());
    }
  }
  for (const { field, name } of usesOf(scope, 'action')) {
    if (domain.responses.has(name) || domain.actions.has(name) || defaultActions.has(name))
      continue;
    if (name.startsWith('utter_')) unknown(scope, field, 'response', name, domain.responses.keys());
    else if (isComplete) {
      const near = suggest(name, [...domain.actions.keys(), ...defaultActions]);
      field.error(`no action named "${name}"`, near ?? 'add it to actions in the domain');
    }
  }
  for (const { field, name } of usesOf(scope, 'model_group')) {
    if (!modelGroups.has(name)) unknown(scope, field, 'model group', name, modelGroups);
  }
  for (const { field, name } of usesOf(scope, 'mcp_server')) {
    if (!mcpServers.has(name)) unknown(scope, field, 'MCP server', name, mcpServers);
  }
}

/** A collect step asks by a response or by an action, never by both, and by neither only once set. */
function validateAsking(
  { domain, isComplete }: ValidationScope,
  field: Field,
  name: string,
  utter: string | undefined,
): void {
  const response = utter ?? `utter_ask_${name}`;
  const action = `action_ask_${name}`;
  const hasAction = domain.actions.has(action);
  const hasResponse = domain.responses.has(response);
  if (hasResponse && hasAction) {
    field.error(`both ${response} and ${action} would ask for "${name}"`, 'remove one of them');
  }
  const hasInitialValue = (domain.slots.get(name)?.initialValue ?? null) !== null;
  // A response that the step names itself is reported as unknown already.
  if (hasResponse || hasAction || hasInitialValue || utter !== undefined || !isComplete) return;
  const near = suggest(response, domain.responses.keys());
  field.error(`nothing asks for "${name}"`, near ?? `add response ${response} or action ${action}`);
}

const classified = new Set(['from_entity', 'from_intent', 'from_trigger_intent']);

/** Nobody classifies what people type: a question needs another way to its answer. */
function validateAnswering(
  { domain }: ValidationScope,
  field: Field,
  slot: Slot,
  utter: string | undefined,
): void {
  if (!slot.mappings.every(({ type }) => classified.has(type))) return;
  const variations = domain.responses.get(utter ?? `utter_ask_${slot.name}`) ?? [];
  if (variations.some(({ buttons = [] }) => buttons.length > 0)) return;
  field.warn(
    `"${slot.name}" is filled by intents and entities only, so no typed answer fills it`,
    'add a mapping of type from_llm or from_text, or buttons to the question',
  );
}

export function unknown(
  { isComplete }: ValidationScope,
  field: Field,
  what: string,
  name: string,
  candidates: Iterable<string>,
): void {
  if (isComplete) field.error(`no ${what} named "${name}"`, suggest(name, candidates));
}
