import { invalidConfiguration, LegateError } from '../protocol/index.ts';

/** A position in a file; lines and columns count from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The path to a value in a document: keys of mappings and indexes of lists. */
export type Path = readonly (string | number)[];

/** A position, and the path of its value as text: `flows.order.steps[2].next`. */
export interface Place {
  readonly position: Position;
  readonly path: string;
}

export function formatPath(path: Path): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (!/^[\p{L}\p{N}_-]+$/u.test(key)) text += `[${JSON.stringify(key)}]`;
    else text += text === '' ? key : `.${key}`;
  }
  return text;
}

/** An error or a warning about a file, with its position and a fix. Never contains a secret. */
export interface Problem {
  /** Errors prevent a project from running, unless `isFatal` is false. Warnings do not. */
  readonly severity: 'error' | 'warning';
  readonly position: Position;
  /** `flows.order.steps[2].next`; empty for a file as a whole. */
  readonly path: string;
  /** What is wrong. */
  readonly message: string;
  /** How to fix it. */
  readonly hint?: string;
  /** False for an error that only disables the affected part: the project still runs. */
  readonly isFatal?: false;
  /** A stable name for other programs: `validation.a2a_server.incompatible_session_config`. */
  readonly code?: string;
}

/** `data/order.yml:12:5 flows.order.steps[2].next: no step named "pay"; did you mean "payment"?` */
export function formatProblem(problem: Problem): string {
  const { position, path, message, hint, code } = problem;
  const place = `${position.file}:${position.line}:${position.column}`;
  const where = path === '' ? `${place}:` : `${place} ${path}:`;
  const why = problem.severity === 'warning' ? `warning: ${message}` : message;
  return `${where} ${why}${hint === undefined ? '' : `; ${hint}`}${code === undefined ? '' : ` [${code}]`}`;
}

export interface ProblemDetails {
  readonly hint?: string | undefined;
  readonly code?: string | undefined;
  /** @default true for errors, unless the collection is tolerant */
  readonly isFatal?: boolean | undefined;
}

/** Collects problems, so that one pass reports all of them. */
export class Problems {
  readonly #problems: Map<string, Problem>;
  /** Whether this is the view for files that other engines also read, in which unknown keys are warnings. */
  readonly isTolerant: boolean;
  /** Whether errors prevent a project from running, by default. */
  readonly isFatal: boolean;

  constructor(of?: { readonly problems: Problems; readonly isFatal: boolean }) {
    this.#problems = of === undefined ? new Map<string, Problem>() : of.problems.#problems;
    this.isTolerant = of !== undefined;
    this.isFatal = of?.isFatal ?? true;
  }

  /** The same problems for files that other engines also read. An error only disables the affected part. */
  tolerant({ isFatal = false } = {}): Problems {
    return new Problems({ problems: this, isFatal });
  }

  error(place: Place, message: string, details?: ProblemDetails): void {
    this.#add('error', place, message, details);
  }

  warn(place: Place, message: string, details?: ProblemDetails): void {
    this.#add('warning', place, message, details);
  }

  /** All problems, sorted by file and position. */
  get all(): readonly Problem[] {
    return [...this.#problems.values()].sort(
      ({ position: left }, { position: right }) =>
        (left.file < right.file ? -1 : Number(left.file > right.file)) ||
        left.line - right.line ||
        left.column - right.column,
    );
  }

  get errors(): readonly Problem[] {
    return this.all.filter(({ severity }) => severity === 'error');
  }

  get warnings(): readonly Problem[] {
    return this.all.filter(({ severity }) => severity === 'warning');
  }

  /** Warnings, and errors with which a project still runs. */
  get nonFatal(): readonly Problem[] {
    return this.all.filter(({ severity, isFatal }) => severity === 'warning' || isFatal === false);
  }

  /** @throws {LegateError} CONFIGURATION_INVALID with every fatal error, if there is one. */
  throwIfErrors(): void {
    const errors = this.errors.filter(({ isFatal }) => isFatal !== false);
    if (errors.length === 0) return;
    const shown = errors.slice(0, 100).map(formatProblem);
    if (errors.length > shown.length) shown.push(`and ${errors.length - shown.length} more`);
    throw invalidConfiguration(shown.join('\n'));
  }

  #add(
    severity: Problem['severity'],
    { position, path }: Place,
    message: string,
    { hint, code, isFatal = this.isFatal }: ProblemDetails = {},
  ): void {
    const problem: Problem = {
      severity,
      position,
      path,
      message,
      ...(hint !== undefined && { hint }),
      ...(code !== undefined && { code }),
      ...(severity === 'error' && !isFatal && { isFatal }),
    };
    // A node that is reached twice, through an alias or a merged file, is one problem.
    this.#problems.set(formatProblem(problem), problem);
  }
}

/** The line and column, both from 1, of a character offset in a text. */
export function locate(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, Math.max(0, offset));
  const lastBreak = before.lastIndexOf('\n');
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1;
  return { line, column: before.length - lastBreak };
}

type OptionalKeys<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

/** The same properties, with those that may be undefined optional instead. */
export type Present<T> = { [K in Exclude<keyof T, OptionalKeys<T>>]: T[K] } & {
  [K in OptionalKeys<T>]?: Exclude<T[K], undefined>;
};

/** An object without its undefined properties. */
export function present<T extends object>(object: T): Present<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- entries don't keep the keys' types
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as Present<T>;
}

/** An error in a text of a project, such as a template or a condition, with its position in the text. */
export class TextError extends LegateError {
  /** In characters from the start of the text. */
  readonly offset: number;
  /** What is wrong, without the position. */
  readonly reason: string;

  constructor(
    text: string,
    offset: number,
    reason: string,
    {
      what = 'template',
      cause,
    }: { readonly what?: 'template' | 'condition'; readonly cause?: unknown } = {},
  ) {
    const { line, column } = locate(text, offset);
    const where = line === 1 ? `column ${column}` : `line ${line}, column ${column}`;
    super('CONFIGURATION_INVALID', `${what}, ${where}: ${reason}`, { cause });
    this.offset = offset;
    this.reason = reason;
  }
}
