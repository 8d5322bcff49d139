import type { Field } from '../../config/index.ts';
import { readCondition, type Use } from '../domain/index.ts';
import { END, type Next } from '../model.ts';

/** What reading `next` needs of whoever reads the steps. */
export interface NextContext {
  readonly flow: string;
  readonly uses: Use[];
  /** Reads nested steps and answers the id of the first. */
  nested(steps: readonly Field[], owner: Field): string;
  /** Remembers that a step of this name must exist. */
  target(name: string, field: Field): void;
}

/** `next:` in any of its forms: a name, nested steps, or a list of if/then and else. */
export function readNext(field: Field, context: NextContext): Next {
  if (!Array.isArray(field.value)) return { branches: [{ to: readTarget(field, context) }] };
  const items = field.list() ?? [];
  const isBranching = items.some(
    (item) => has(item, 'if') || has(item, 'else') || has(item, 'then'),
  );
  if (!isBranching) {
    if (items.length === 0) field.error('must not be empty', 'name a step, or END');
    return { branches: [{ to: context.nested(items, field) }] };
  }
  const branches = items.flatMap((item, at) => readBranch(item, at === items.length - 1, context));
  const last = items.at(-1);
  if (last !== undefined && !has(last, 'else')) {
    field.keyError('the last branch must be "else"', { hint: 'add - else: END' });
    return { branches: [...branches, { to: END }] };
  }
  return { branches };
}

function readBranch(item: Field, isLast: boolean, context: NextContext): Next['branches'] {
  const section = item.section();
  if (section === undefined) return [];
  const otherwise = section.get('else');
  if (otherwise !== undefined) {
    section.finish();
    if (!isLast) item.error('"else" must be the last branch');
    return [{ to: readTarget(otherwise, context) }];
  }
  const condition = readCondition(section.require('if'), context.uses, context.flow);
  const then = section.require('then', 'name a step, or END');
  section.finish();
  const to = then === undefined ? END : readTarget(then, context);
  return condition === undefined ? [] : [{ if: condition, to }];
}

/** The name of a step, END, or a list of nested steps. */
function readTarget(field: Field, context: NextContext): string {
  if (Array.isArray(field.value)) {
    const steps = field.list() ?? [];
    if (steps.length === 0) field.error('must not be empty', 'name a step, or END');
    return context.nested(steps, field);
  }
  const name = field.name();
  if (name === undefined || name === END) return END;
  context.target(name, field);
  return name;
}

function has(item: Field, key: string): boolean {
  return item.isMapping() && Object.hasOwn(item.value as object, key);
}
