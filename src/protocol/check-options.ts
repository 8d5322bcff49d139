import { suggest } from './did-you-mean.ts';
import { invalidConfiguration } from './errors.ts';

/**
 * The kind of value that an option accepts: a type (numbers are 0 or more), one of several words, an
 * object with options or methods of its own, one of several kinds, or (`true`) any value except a
 * promise.
 */
export type OptionKind =
  | true
  | 'boolean'
  | 'function'
  | 'list'
  | 'number'
  | 'object'
  | 'string'
  | readonly string[]
  | NestedOptions
  | ObjectWithMethods
  | { readonly oneOf: readonly OptionKind[] };

/** An object with options of its own, which `checkOptions` checks too. */
export interface NestedOptions {
  readonly names: Readonly<Record<string, OptionKind>>;
  readonly required?: readonly string[];
}

/** An object with methods, such as an instance of a Legate class. */
export interface ObjectWithMethods {
  readonly methods: readonly string[];
  /**
   * How to create such an object, for the error text.
   * @example "createLogger({ level: 'info' })"
   */
  readonly example: string;
}

/** The names of all options of a type: the compiler reports a missing or a misspelt one. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: OptionKind };

/** Our options by their names in other frameworks: AI SDK, Mastra, LangGraph, MCP. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  execute: ['run'],
  handler: ['run'],
  func: ['run'],
  inputSchema: ['input'],
  parameters: ['input'],
  schema: ['input', 'output'],
  outputSchema: ['output'],
  requireApproval: ['needsConfirmation'],
  needsApproval: ['needsConfirmation'],
  system: ['instruction'],
  prompt: ['instruction', 'message'],
  agents: ['steps', 'branches', 'subAgents'],
  handoffs: ['subAgents'],
  subAgents: ['steps', 'branches', 'agents'],
  steps: ['branches', 'agents'],
  branches: ['steps', 'agents'],
  sub_agents: ['subAgents', 'steps', 'branches', 'agents'],
  id: ['name'],
  llm: ['model'],
  maxSteps: ['maxIterations'],
  maxTurns: ['maxIterations'],
  maxRetries: ['modelRetries'],
  beforeModelCallback: ['beforeModel'],
  afterModelCallback: ['afterModel'],
  beforeToolCallback: ['beforeTool'],
  afterToolCallback: ['afterTool'],
  beforeAgentCallback: ['beforeAgent'],
  afterAgentCallback: ['afterAgent'],
  checkpointer: ['store'],
  storage: ['store'],
  file: ['path'],
  bearer: ['auth'],
  token: ['auth'],
  apiKey: ['auth'],
  input: ['message'],
  threadId: ['sessionId', 'contextId'],
  conversationId: ['sessionId', 'contextId'],
  sessionId: ['contextId'],
  timeout: ['timeoutMs'],
  abortSignal: ['signal'],
  activeTools: ['tools'],
};

/** Options of other frameworks that Legate sets for each step. */
const inSteps: Readonly<Record<string, string>> = {
  toolChoice: "prepareStep: () => ({ toolChoice: 'required' })",
  activeTools: "prepareStep: () => ({ tools: ['name'] })",
};

/**
 * The owner of options in error texts: its kind, and its name if it has one.
 * @example ownerOf('agent', options)
 */
export function ownerOf(kind: string, options: unknown): string {
  const isNamed = typeof options === 'object' && options !== null && 'name' in options;
  return isNamed && typeof options.name === 'string' ? `${kind} "${options.name}"` : kind;
}

/**
 * Throws for unknown options, missing options and values of another kind. TypeScript doesn't report these
 * in spread objects, and JavaScript never does.
 * @example checkOptions('agent "clerk"', options, optionNames, ['name']);
 */
export function checkOptions(
  owner: string,
  options: object,
  names: Readonly<Record<string, OptionKind>>,
  required: readonly string[] = [],
): void {
  if (typeof options !== 'object' || options === null || options instanceof Promise)
    throw invalidConfiguration(`${owner}: its options are ${nameOf(options)}; pass an object`);
  checkNames(owner, options, names);
  const given = new Map<string, unknown>(Object.entries(options));
  for (const name of required)
    if (given.get(name) === undefined)
      throw invalidConfiguration(`${owner}: the option "${name}" is missing`);
  for (const [name, value] of given) {
    const wanted =
      value === undefined ? undefined : expected(owner, name, value, names[name] ?? true);
    if (wanted !== undefined)
      throw invalidConfiguration(
        `${owner}: the option "${name}" is ${nameOf(value)}; ${isAdvice(wanted) ? wanted : `pass ${wanted}`}`,
      );
  }
}

/** The value to pass instead; undefined if the value is of the right kind. */
function expected(
  owner: string,
  name: string,
  value: unknown,
  kind: OptionKind,
): string | undefined {
  if (value instanceof Promise) return 'await it first';
  if (typeof kind === 'object') {
    if ('oneOf' in kind) return expectedOneOf(owner, name, value, kind.oneOf);
    if ('names' in kind) {
      if (!isPlain(value)) return 'an object';
      checkOptions(`${name} of ${owner}`, value, kind.names, kind.required);
      return undefined;
    }
    if ('methods' in kind) return hasMethods(value, kind.methods) ? undefined : kind.example;
    if (typeof value !== 'string') return kind.map((word) => `'${word}'`).join(' or ');
    if (kind.includes(value)) return undefined;
    return suggest(value, kind, kind.map((word) => `'${word}'`).join(' or '));
  }
  switch (kind) {
    case true:
      return undefined;
    case 'list':
      return Array.isArray(value) ? undefined : 'a list: [one, other]';
    case 'number':
      return typeof value === 'number' && value >= 0 ? undefined : 'a number, 0 or more';
    case 'object':
      return typeof value === 'object' && value !== null ? undefined : 'an object';
    case 'boolean':
    case 'function':
    case 'string':
      return typeof value === kind ? undefined : `a ${kind}`;
  }
}

/** Whether the text is advice ("await it first"), not a description of a value to pass. */
function isAdvice(wanted: string): boolean {
  return wanted.startsWith('did you mean') || wanted.startsWith('await');
}

/** Checks a value against several kinds. Advice of one kind precedes the list of all kinds. */
function expectedOneOf(
  owner: string,
  name: string,
  value: unknown,
  kinds: readonly OptionKind[],
): string | undefined {
  const wanted: string[] = [];
  for (const kind of kinds) {
    const each = expected(owner, name, value, kind);
    if (each === undefined) return undefined;
    wanted.push(each);
  }
  return wanted.find(isAdvice) ?? wanted.join(', or ');
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return methods.every((method) => typeof Reflect.get(value, method) === 'function');
}

function nameOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

function checkNames(
  owner: string,
  options: object,
  names: Readonly<Record<string, OptionKind>>,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  throw invalidConfiguration(`${owner}: unknown option "${unknown}"; ${hintFor(unknown, names)}`);
}

function hintFor(unknown: string, names: Readonly<Record<string, OptionKind>>): string {
  if (Object.hasOwn(inSteps, unknown) && Object.hasOwn(names, 'prepareStep'))
    return `pass ${inSteps[unknown] ?? ''}`;
  const usual = Object.hasOwn(elsewhere, unknown) ? elsewhere[unknown] : undefined;
  const meant = usual?.find((name) => Object.hasOwn(names, name));
  if (meant !== undefined) return `did you mean "${meant}"?`;
  const around = Object.entries(names).find(
    ([, kind]) => typeof kind === 'object' && 'names' in kind && Object.hasOwn(kind.names, unknown),
  );
  if (around !== undefined) return `it belongs in "${around[0]}": ${around[0]}: { ${unknown} }`;
  const known = Object.keys(names);
  const all = known.length === 0 ? 'it takes none' : `known are ${known.join(', ')}`;
  return suggest(unknown, known, all) ?? all;
}
