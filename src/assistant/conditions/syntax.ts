export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains' | 'matches';

export type Constant = 'true' | 'false' | 'null' | 'undefined' | 'empty';

/** What a condition is made of; `offset` counts characters in the condition. */
export type Predicate = { readonly offset: number } & (
  | {
      readonly kind: 'logic';
      readonly operator: 'and' | 'or';
      readonly left: Predicate;
      readonly right: Predicate;
    }
  | { readonly kind: 'not'; readonly of: Predicate }
  | {
      readonly kind: 'comparison';
      readonly operator: Comparison;
      readonly left: Predicate;
      readonly right: Predicate;
    }
  | { readonly kind: 'identifier'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: string | number }
  | { readonly kind: 'constant'; readonly value: Constant }
  | { readonly kind: 'set'; readonly items: readonly Predicate[] }
  | { readonly kind: 'pattern'; readonly source: string; readonly flags: string }
);

/** Writes a predicate so that parsing it again gives the same predicate. */
export function printPredicate(predicate: Predicate): string {
  switch (predicate.kind) {
    case 'logic':
      return `(${printPredicate(predicate.left)} ${predicate.operator} ${printPredicate(predicate.right)})`;
    case 'not':
      return `(not ${printPredicate(predicate.of)})`;
    case 'comparison':
      return `(${printPredicate(predicate.left)} ${predicate.operator} ${printPredicate(predicate.right)})`;
    case 'identifier':
      return predicate.name;
    case 'literal':
      return typeof predicate.value === 'number'
        ? String(predicate.value)
        : `"${predicate.value.replace(/["\\]/g, '\\$&')}"`;
    case 'constant':
      return predicate.value;
    case 'set':
      return `{ ${predicate.items.map(printPredicate).join(' ')} }`;
    case 'pattern':
      return `/${predicate.source}/${predicate.flags}`;
  }
}
