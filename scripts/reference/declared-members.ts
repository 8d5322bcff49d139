import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Comment, parseSync, type Statement, type TSType } from 'oxc-parser';

/** A property of a type, from its declaration. */
export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  /** The source text of the type. */
  readonly type: string;
  /** The source text of the comment before it. */
  readonly comment: string;
}

interface Source {
  readonly file: string;
  readonly text: string;
  readonly body: readonly Statement[];
  readonly comments: readonly Comment[];
}

const sources = new Map<string, Source>();

function sourceOf(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, text);
  const source = { file, text, body: program.body, comments };
  sources.set(file, source);
  return source;
}

/** The properties of a type that a file declares, imports or re-exports, inherited ones first. */
export function membersOf(name: string, file: string): readonly Member[] {
  const source = sourceOf(file);
  for (const statement of source.body) {
    const declared =
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type === 'TSInterfaceDeclaration' && declared.id.name === name) {
      const inherited = declared.extends.flatMap(({ expression, typeArguments }) =>
        expression.type === 'Identifier'
          ? ofReference(expression.name, typeArguments?.params ?? [], source)
          : [],
      );
      return unique([...inherited, ...ownMembers(declared.body.body, source)]);
    }
    if (declared?.type === 'TSTypeAliasDeclaration' && declared.id.name === name)
      return unique(ofType(declared.typeAnnotation, source));
  }
  return elsewhere(name, source);
}

/** The properties of a type that the file imports or re-exports; none for types of other packages. */
function elsewhere(name: string, { file, body }: Source): readonly Member[] {
  for (const statement of body) {
    const from =
      statement.type === 'ImportDeclaration' ||
      statement.type === 'ExportAllDeclaration' ||
      statement.type === 'ExportNamedDeclaration'
        ? statement.source?.value
        : undefined;
    if (from === undefined || !from.startsWith('.')) continue;
    const there = join(dirname(file), from);
    if (statement.type === 'ExportAllDeclaration') {
      const found = membersOf(name, there);
      if (found.length > 0) return found;
    } else if (statement.type !== 'ExpressionStatement' && 'specifiers' in statement) {
      const isNamed = statement.specifiers.some(
        ({ local }) => 'name' in local && local.name === name,
      );
      if (isNamed) return membersOf(name, there);
    }
  }
  return [];
}

function ofType(type: TSType, source: Source): readonly Member[] {
  switch (type.type) {
    case 'TSTypeLiteral':
      return ownMembers(type.members, source);
    case 'TSParenthesizedType':
      return ofType(type.typeAnnotation, source);
    case 'TSIntersectionType':
      return type.types.flatMap((each) => ofType(each, source));
    case 'TSUnionType':
      return alternatives(type.types.map((each) => unique(ofType(each, source))));
    case 'TSTypeReference':
      return type.typeName.type === 'Identifier'
        ? ofReference(type.typeName.name, type.typeArguments?.params ?? [], source)
        : [];
    default:
      return [];
  }
}

/** The properties of any of several types, with the types of all. */
function alternatives(lists: readonly (readonly Member[])[]): readonly Member[] {
  const found = new Map<string, readonly Member[]>();
  for (const each of lists.flat()) found.set(each.name, [...(found.get(each.name) ?? []), each]);
  return [...found.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const type = [...new Set(same.map((each) => each.type))].join(' | ');
    const comment = same.find((each) => each.comment !== '')?.comment ?? '';
    const isOptional = same.length < lists.length || same.some((each) => each.isOptional);
    return [{ ...first, type, comment, isOptional }];
  });
}

function ofReference(
  name: string,
  parameters: readonly TSType[],
  source: Source,
): readonly Member[] {
  const [of, keys] = parameters;
  if (of === undefined) return membersOf(name, source.file);
  const names = keys === undefined ? [] : literals(keys);
  switch (name) {
    case 'Pick':
      return ofType(of, source).filter((each) => names.includes(each.name));
    case 'Omit':
      return ofType(of, source).filter((each) => !names.includes(each.name));
    case 'Partial':
      return ofType(of, source).map((each) => ({ ...each, isOptional: true }));
    case 'Readonly':
    case 'Required':
      return ofType(of, source);
    default:
      return membersOf(name, source.file);
  }
}

function literals(type: TSType): readonly string[] {
  if (type.type === 'TSUnionType') return type.types.flatMap(literals);
  if (type.type !== 'TSLiteralType' || type.literal.type !== 'Literal') return [];
  return [String(type.literal.value)];
}

function ownMembers(
  signatures: readonly { readonly type: string; readonly start: number; readonly end: number }[],
  { text, comments }: Source,
): readonly Member[] {
  return signatures.flatMap(({ start, end }) => {
    const written = text.slice(start, end).replaceAll(/\s+/g, ' ').replace(/;$/, '');
    const [, name, optional, type] = /^(?:readonly )?(\w+)(\??): ?(.*)$/.exec(written) ?? [];
    if (name === undefined || type === undefined) return [];
    const before = comments.findLast((each) => each.end <= start);
    const isOwn = before !== undefined && text.slice(before.end, start).trim() === '';
    return [{ name, isOptional: optional === '?', type, comment: isOwn ? before.value : '' }];
  });
}

/** Removes inherited properties that the type declares again. */
function unique(members: readonly Member[]): readonly Member[] {
  return [...new Map(members.map((each) => [each.name, each])).values()];
}
