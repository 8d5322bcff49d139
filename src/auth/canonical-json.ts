import { LegateError } from '../protocol/index.ts';

/** Nesting beyond this is refused. */
const maxDepth = 100;

/**
 * A JSON value in its one canonical form (RFC 8785): members in the order of their names' UTF-16
 * code units, no spaces, numbers and texts as ECMAScript writes them. Members that are undefined
 * count as absent. Throws for what JSON cannot say: NaN, infinities, lone surrogates.
 * @example canonicalJson({ b: 1, a: [1e21, 'ü'] }) // '{"a":[1e+21,"ü"],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > maxDepth) throw invalid(`is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'number':
      if (!Number.isFinite(value)) throw invalid(`contains ${value}`);
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth);
    default:
      throw invalid(`contains a ${typeof value}`);
  }
}

function writeString(value: string): string {
  if (!value.isWellFormed()) throw invalid('contains a lone surrogate');
  return JSON.stringify(value);
}

function writeArray(values: readonly unknown[], depth: number): string {
  return `[${values.map((value) => write(value, depth + 1)).join(',')}]`;
}

function writeObject(value: object, depth: number): string {
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // Without a comparison of its own, sort goes by UTF-16 code units, as the RFC asks for.
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${writeString(name)}:${write(member, depth + 1)}`);
  return `{${members.join(',')}}`;
}

function invalid(what: string): LegateError {
  return new LegateError(
    'INVALID_PARAMS',
    `the value ${what}, which canonical JSON cannot express`,
  );
}
