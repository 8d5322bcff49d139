import { clearTimeout, setTimeout } from 'node:timers';
import type { Client } from 'pg';
import { LegateError } from '../../protocol/index.ts';
import type { Place } from './link.ts';

/** A statement with the name under which it is prepared. Each name has one text. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement that calls a database function. */
export function call(name: string, parameters: number): Statement {
  const list = Array.from({ length: parameters }, (_, index) => `$${index + 1}`).join(', ');
  return { name, text: `SELECT * FROM legate.${name}(${list})` };
}

export type Value =
  | string
  | number
  | boolean
  | null
  | readonly (string | number | boolean | null)[];

/** A row by the names of its columns. 64-bit integers are texts. */
export type Row = Readonly<Record<string, unknown>>;

/** A column that is a list of texts. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The `kind` that a database function returned. */
export function kindOf<K extends string>({ kind }: Row, kinds: readonly K[]): K {
  const found = kinds.find((each) => each === kind);
  if (found !== undefined) return found;
  throw new LegateError(
    'INTERNAL',
    `the database returned the unexpected result "${String(kind)}"`,
  );
}

/** Sends one statement; others can be in flight on the connection. */
export function send(
  client: Client,
  { name, text }: Statement,
  values: readonly Value[],
  { isPooled = false }: Pick<Place, 'isPooled'>,
  done: (error: Error | undefined, rows: readonly Row[]) => void,
): void {
  // pg types the error of its callback as always defined.
  const callback = (error: Error | undefined, result: { rows: Row[] } | undefined): void =>
    done(error ?? undefined, result?.rows ?? []);
  client.query({ ...(!isPooled && { name }), text, values: [...values] }, callback);
}

/** Buffers what `write` writes, so that it is sent in as few packets as possible. */
export function corked(client: Client, write: () => void): void {
  const { stream } = client.connection;
  stream.cork();
  try {
    write();
  } finally {
    stream.uncork();
  }
}

/**
 * Calls `late` unless ended within the given milliseconds: a network can lose a response without an
 * error.
 */
export function deadline(milliseconds: number, late: () => void): { end(): void } {
  const timer = setTimeout(late, milliseconds).unref();
  return { end: () => clearTimeout(timer) };
}
