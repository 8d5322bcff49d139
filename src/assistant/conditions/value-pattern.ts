import { ConditionError } from './condition-error.ts';
import { parseCondition } from './parse.ts';
import type { Predicate } from './syntax.ts';

/** A pattern that values of a slot match, as a project wrote it. */
export interface ValuePattern {
  readonly source: string;
  readonly flags: string;
}

/** The pattern of a rejection that refuses everything else: `not slots.code matches "^A\\d+$"`. */
export function requiredPattern(rejection: string, slot: string): ValuePattern | undefined {
  if (!rejection.includes('matches')) return undefined;
  const predicate = parsed(rejection);
  const refused = predicate?.kind === 'not' ? predicate.of : undefined;
  if (refused?.kind !== 'comparison' || refused.operator !== 'matches') return undefined;
  const { left, right } = refused;
  if (left.kind !== 'identifier' || left.name !== `slots.${slot}`) return undefined;
  if (right.kind === 'pattern') return { source: right.source, flags: right.flags };
  return right.kind === 'literal' ? { source: String(right.value), flags: '' } : undefined;
}

/** The pattern in the description of a collect step: `Order number, pattern: /^A\\d+$/i`. */
export function describedPattern(
  description: string,
): (ValuePattern & { readonly offset: number }) | undefined {
  const found = /\bpattern:?\s*\/(.+?)(?<!\\)\/([a-z]*)/i.exec(description);
  if (found === null) return undefined;
  const [whole, source = '', flags = ''] = found;
  return { source, flags, offset: found.index + whole.indexOf('/') + 1 };
}

function parsed(condition: string): Predicate | undefined {
  try {
    return parseCondition(condition).predicate;
  } catch (error) {
    if (error instanceof ConditionError) return undefined;
    throw error;
  }
}
