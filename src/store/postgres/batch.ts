import type { Statement, Value } from './statement.ts';

/** Maximum characters of the arguments of calls that share a statement. */
const batchLimit = 500_000;

/**
 * A database function whose calls share a statement. The statement's only parameter is a JSON array
 * with the arguments of each call; each call returns one row, in order.
 */
export interface Batch extends Statement {
  readonly parameters: readonly string[];
}

/**
 * A statement that calls a database function once for each list of arguments. `types` are the types of
 * its parameters, in order.
 */
export function batch(name: string, types: string): Batch {
  const columns = types.split(',').map((type, index) => `p${index} ${type.trim()}`);
  const parameters = columns.map((_, index) => `p${index}`);
  const text = `SELECT outcome.*
    FROM ROWS FROM (json_to_recordset($1) AS (${columns.join(', ')})) WITH ORDINALITY AS call
      CROSS JOIN LATERAL legate.${name}(${parameters.join(', ')}) AS outcome
    ORDER BY call.ordinality`;
  return { name: `${name}_batch`, text, parameters };
}

/** A statement with its values; for a batch, the values of one call. */
export interface Operation {
  readonly statement: Statement | Batch;
  readonly values: readonly Value[];
}

/** One statement with its values. */
export interface Call {
  readonly statement: Statement;
  readonly values: readonly Value[];
  /** Whether each row is the result of one operation. */
  readonly isBatch: boolean;
}

/**
 * Converts operations to as few statements as possible, in order: consecutive calls of one function
 * share a statement.
 */
export function toCalls(group: readonly Operation[]): Call[] {
  const calls: Call[] = [];
  let shared: { readonly statement: Batch; readonly items: string[]; length: number } | undefined;
  const endBatch = (): void => {
    if (shared === undefined) return;
    const { statement, items } = shared;
    calls.push({ statement, values: [`[${items.join(',')}]`], isBatch: true });
    shared = undefined;
  };
  for (const { statement, values } of group) {
    if (!('parameters' in statement)) {
      endBatch();
      calls.push({ statement, values, isBatch: false });
      continue;
    }
    const item = argumentsOf(statement, values);
    const fits = shared !== undefined && shared.length + item.length <= batchLimit;
    if (shared?.statement !== statement || !fits) endBatch();
    shared ??= { statement, items: [], length: 0 };
    shared.items.push(item);
    shared.length += item.length;
  }
  endBatch();
  return calls;
}

/** The arguments of one call, as an element of a batch's parameter. */
function argumentsOf({ parameters }: Batch, values: readonly Value[]): string {
  const json = JSON.stringify(Object.fromEntries(parameters.map((name, at) => [name, values[at]])));
  // PostgreSQL refuses the escape of a lone surrogate.
  return json.includes(String.raw`\ud`) ? JSON.stringify(JSON.parse(json), wellFormed) : json;
}

function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
