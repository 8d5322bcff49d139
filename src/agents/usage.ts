import { isJsonObject, type JsonObject } from '../protocol/index.ts';

/**
 * What a turn cost, in tokens; part of the metadata of its end.
 * @example const atFullPrice = ({ input, cachedInput }: Usage) => input - cachedInput;
 */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
  readonly reasoning: number;
  /** Answers of models. */
  readonly calls: number;
}

export const noUsage: Usage = { input: 0, output: 0, cachedInput: 0, reasoning: 0, calls: 0 };
const fields = ['input', 'output', 'cachedInput', 'reasoning', 'calls'] as const;

export function addUsage(one: Usage, other: Partial<Usage>): Usage {
  const sum = { ...one };
  for (const field of fields) sum[field] += other[field] ?? 0;
  return sum;
}

/** Reads the usage from the metadata of another agent's end. */
export function usageOf(metadata: JsonObject | undefined): Partial<Usage> {
  const usage = metadata?.['usage'];
  if (!isJsonObject(usage)) return {};
  return Object.fromEntries(
    fields.flatMap((field) => (typeof usage[field] === 'number' ? [[field, usage[field]]] : [])),
  );
}

/** As metadata; nothing where nothing was used. */
export function usageMetadata(usage: Usage): { readonly usage?: JsonObject } {
  return usage.calls === 0 ? {} : { usage: { ...usage } };
}
