import { blockName, type Expression, type Statement } from './syntax.ts';
import { TemplateError } from './tokens.ts';
import { toText } from './value.ts';

type Node = Expression | Statement;
type Call = Extract<Expression, { kind: 'call' }>;

/** Functions that every template can call. */
export const globals: ReadonlySet<string> = new Set(['range', 'dict', 'namespace']);

/** @throws {TemplateError} when the template calls what is no macro of its own. */
export function checkCalls(template: string, statements: readonly Statement[]): void {
  const nodes = [...nodesIn(statements)];
  const macros = new Set(nodes.flatMap((node) => (node.kind === 'macro' ? [node.name] : [])));
  const isKnown = ({ name }: Call) => globals.has(name) || name === 'caller' || macros.has(name);
  const unknown = nodes.find((node): node is Call => node.kind === 'call' && !isKnown(node));
  if (unknown === undefined) return;
  const reason = `no macro named ${unknown.name}; only macros and the methods of values can be called`;
  throw new TemplateError(template, unknown.offset, reason);
}

/** Every node below a part of a template, in its order. */
function* nodesIn(part: unknown): Generator<Node> {
  if (isNode(part)) yield part;
  for (const child of childrenOf(part)) yield* nodesIn(child);
}

/** The paths that a template reads from its scope, without the variables it makes itself. */
export function namesOf(statements: readonly Statement[]): readonly string[] {
  const found = new Set<string>();
  /** `made`: the names that are variables at this point; `set` and macros add theirs. */
  const visit = (part: unknown, made: Set<string>): void => {
    const path = isNode(part) ? pathOf(part) : undefined;
    if (path !== undefined) {
      if (!made.has(path[0] ?? '')) found.add(path.join('.'));
      return;
    }
    if (!isNode(part)) {
      for (const child of childrenOf(part)) visit(child, made);
      return;
    }
    switch (part.kind) {
      case 'set':
        visit(part.value, made);
        break;
      case 'capture':
      case 'filtered':
        visit([part.body, part.filter], new Set(made));
        break;
      case 'with':
        visit(part.assignments, made);
        visit(part.body, new Set([...made, ...part.assignments.map(({ name }) => name)]));
        break;
      case 'for':
        visit([part.over, part.otherwise], made);
        visit([part.filter, part.body], new Set([...made, ...part.target.names, 'loop']));
        break;
      case 'macro':
      case 'callblock': {
        const { parameters, body } = part.kind === 'macro' ? part : part.body;
        if (part.kind === 'macro') made.add(part.name);
        else visit(part.call, made);
        visit(parameters, made);
        const names = parameters.map(({ name }) => name);
        visit(body, new Set([...made, ...names, 'caller', 'varargs', 'kwargs']));
        break;
      }
      default:
        for (const child of childrenOf(part)) visit(child, made);
    }
    const target = part.kind === 'set' || part.kind === 'capture' ? part.target : undefined;
    if (target !== undefined && 'names' in target) for (const name of target.names) made.add(name);
  };
  visit(statements, new Set([blockName]));
  return [...found];
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'kind' in part;
}

function childrenOf(part: unknown): Iterable<unknown> {
  if (typeof part !== 'object' || part === null) return [];
  return part instanceof Map ? part.values() : Object.values(part);
}

/** `a.b.c` of a chain of plain names. */
function pathOf(node: Node): string[] | undefined {
  if (node.kind === 'name') return [node.name];
  if (node.kind !== 'member' || node.key.kind !== 'literal') return undefined;
  const of = pathOf(node.of);
  return of && [...of, toText(node.key.value)];
}
