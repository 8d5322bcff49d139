import { type Field, suggest } from '../../config/index.ts';
import { compilePatternInText, PatternError } from '../../regex/index.ts';
import { type Condition, describedPattern, type SlotComparison } from '../conditions/condition.ts';
import { parseCondition, usesOf, type ValidationScope } from '../domain/uses.ts';
import type { Slot } from '../model.ts';

/** Checks that conditions parse, name existing slots, and compare slots with possible values. */
export function validateConditions(scope: ValidationScope): void {
  for (const { field, text } of usesOf(scope, 'condition')) {
    const condition = parseCondition(field, text);
    if (condition !== undefined) validate(scope, field, condition);
  }
  for (const { field, text } of usesOf(scope, 'description')) validateDescription(field, text);
}

/** Checks the regular expression in a description, with which the matching generator finds values. */
function validateDescription(field: Field, text: string): void {
  const pattern = describedPattern(text);
  if (pattern === undefined) return;
  try {
    compilePatternInText(pattern.source, pattern.flags);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    field.error(`${error.reason}, so the pattern is not used`, error.hint, pattern.offset);
  }
}

function validate(scope: ValidationScope, field: Field, condition: Condition): void {
  const { slots } = scope.domain;
  const { references, unsupported, warnings, text } = condition;
  for (const { message, offset } of warnings) field.warn(message, undefined, offset);
  for (const { reason, hint, offset } of unsupported) {
    field.error(`${reason}, so the condition is always false`, hint, offset);
  }
  for (const name of references.slots) {
    const at = Math.max(0, text.indexOf(`slots.${name}`));
    if (name === 'dialogue_stack') {
      field.error('slot "dialogue_stack" belongs to the engine', undefined, at);
    } else if (!slots.has(name) && scope.isComplete) {
      field.error(`no slot named "${name}"`, suggest(name, slots.keys()), at);
    }
  }
  for (const { name, offset } of references.unprefixed) {
    if (slots.has(name)) {
      field.warn(`"${name}" is read as slots.${name}`, `write slots.${name}`, offset);
      continue;
    }
    const hint = `names start with slots. or context.; for a text write "${name}"`;
    field.error(`"${name}" is always undefined`, hint, offset);
  }
  for (const comparison of references.comparisons) {
    const slot = slots.get(comparison.slot);
    const wrong = slot && illegal(slot, comparison);
    if (wrong !== undefined) {
      field.error(
        `slot "${comparison.slot}" is never ${wrong.value}`,
        wrong.hint,
        comparison.offset,
      );
    }
  }
}

function illegal(
  slot: Slot,
  { literal }: SlotComparison,
): { readonly value: string; readonly hint: string } | undefined {
  const written = typeof literal === 'object' ? literal.constant : literal;
  if (typeof literal === 'object' && !['true', 'false'].includes(literal.constant))
    return undefined;
  const value = typeof literal === 'string' ? `"${literal}"` : String(written);
  if (slot.type === 'bool') {
    return typeof literal === 'object'
      ? undefined
      : { value, hint: 'compare it with true or false' };
  }
  if (slot.type !== 'categorical') return undefined;
  const values = (slot.values ?? []).map(String);
  if (values.some((one) => one.toLowerCase() === String(written).toLowerCase())) return undefined;
  return { value, hint: suggest(String(written), values, `it holds ${values.join(', ')}`) ?? '' };
}
