import { z } from 'zod';
import type { JsonObject } from '../protocol/index.ts';

export const usage = z
  .object({
    input: z.number(),
    output: z.number(),
    cachedInput: z.number(),
    reasoning: z.number(),
    /** Number of model answers. */
    calls: z.number(),
  })
  .readonly();

/**
 * The token usage of a turn; part of the metadata of its end.
 * @example const atFullPrice = ({ input, cachedInput }: Usage) => input - cachedInput;
 */
export type Usage = z.infer<typeof usage>;

export const noUsage: Usage = { input: 0, output: 0, cachedInput: 0, reasoning: 0, calls: 0 };
const reported = usage.unwrap().partial().catch({});

export function addUsage(one: Usage, other: z.infer<typeof reported>): Usage {
  return {
    input: one.input + (other.input ?? 0),
    output: one.output + (other.output ?? 0),
    cachedInput: one.cachedInput + (other.cachedInput ?? 0),
    reasoning: one.reasoning + (other.reasoning ?? 0),
    calls: one.calls + (other.calls ?? 0),
  };
}

/** Reads the usage from the metadata of another agent's end. */
export function usageOf(metadata: JsonObject | undefined): Usage {
  return addUsage(noUsage, reported.parse(metadata?.['usage']));
}

/** The usage as metadata; empty if no model was called. */
export function usageMetadata(used: Usage): { readonly usage?: JsonObject } {
  return used.calls === 0 ? {} : { usage: { ...used } };
}
