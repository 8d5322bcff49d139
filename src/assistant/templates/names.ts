import type { Arguments, Expression } from './expression.ts';
import type { Statement } from './statement.ts';
import { toText } from './value.ts';

/** The paths that a template reads from its scope, without the variables it makes itself. */
export function namesOf(statements: readonly Statement[]): readonly string[] {
  const found = new Set<string>();
  walk(statements, new Set(), found);
  return [...found];
}

function walk(statements: readonly Statement[], made: Set<string>, found: Set<string>): void {
  for (const statement of statements) {
    switch (statement.kind) {
      case 'text':
        break;
      case 'output':
        collect(statement.expression, made, found);
        break;
      case 'set':
        collect(statement.value, made, found);
        made.add(statement.name);
        break;
      case 'capture':
        walk(statement.body, made, found);
        made.add(statement.name);
        break;
      case 'if':
        for (const { condition, body } of statement.branches) {
          collect(condition, made, found);
          walk(body, made, found);
        }
        break;
      case 'for': {
        collect(statement.over, made, found);
        const inside = new Set([...made, ...statement.names, 'loop']);
        collect(statement.filter, inside, found);
        walk(statement.body, inside, found);
        walk(statement.otherwise, made, found);
        break;
      }
    }
  }
}

function collect(
  expression: Expression | undefined,
  made: ReadonlySet<string>,
  found: Set<string>,
): void {
  if (expression === undefined) return;
  const again = (...more: readonly (Expression | undefined)[]) => {
    for (const one of more) collect(one, made, found);
  };
  const path = pathOf(expression);
  if (path !== undefined) {
    if (!made.has(path[0] ?? '')) found.add(path.join('.'));
    return;
  }
  switch (expression.kind) {
    case 'literal':
    case 'name':
      break;
    case 'list':
      again(...expression.items);
      break;
    case 'mapping':
      for (const { key, value } of expression.entries) again(key, value);
      break;
    case 'member':
      again(expression.of, expression.key);
      break;
    case 'slice':
      again(expression.of, expression.from, expression.to);
      break;
    case 'method':
    case 'filter':
    case 'test':
      again(expression.of, ...all(expression.arguments));
      break;
    case 'not':
    case 'minus':
      again(expression.of);
      break;
    case 'binary':
      again(expression.left, expression.right);
      break;
    case 'choice':
      again(expression.condition, expression.yes, expression.no);
      break;
  }
}

/** `a.b.c` of a chain of plain names. */
function pathOf(expression: Expression): string[] | undefined {
  if (expression.kind === 'name') return [expression.name];
  if (expression.kind !== 'member' || expression.key.kind !== 'literal') return undefined;
  const of = pathOf(expression.of);
  return of && [...of, toText(expression.key.value)];
}

function all({ positional, named }: Arguments): readonly Expression[] {
  return [...positional, ...named.values()];
}
