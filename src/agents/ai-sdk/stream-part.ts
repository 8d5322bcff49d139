import { z } from 'zod';
import { json } from '../stored.ts';

const tokens = z.number().optional().catch(undefined);

/** Token usage of all steps, as the AI SDK reports it. */
const totalUsage = z
  .object({ inputTokens: tokens, outputTokens: tokens })
  .catch({})
  .transform(({ inputTokens = 0, outputTokens = 0 }) => ({
    input: inputTokens,
    output: outputTokens,
    cachedInput: 0,
    reasoning: 0,
    calls: inputTokens + outputTokens > 0 ? 1 : 0,
  }));

/** The parts of `fullStream` that callers need; of all others, only the type is kept. */
export const streamPart = z.union([
  z.object({ type: z.literal('start-step') }),
  z.object({ type: z.literal('text-delta'), text: z.string() }),
  z.object({
    type: z.literal('file'),
    file: z.object({ base64: z.string(), mediaType: z.string() }),
  }),
  z.object({
    type: z.literal('source'),
    sourceType: z.literal('url'),
    url: z.string(),
    title: z.string().exactOptional(),
  }),
  z.object({ type: z.literal('tool-call'), toolName: z.string() }),
  z.object({
    type: z.literal('tool-approval-request'),
    approvalId: z.string(),
    isAutomatic: z.boolean().default(false),
    toolCall: z.object({ toolName: z.string(), input: json }),
  }),
  z.object({
    type: z.literal('finish'),
    totalUsage,
    finishReason: z.string().catch('stop'),
    rawFinishReason: z.string().optional().catch(undefined),
  }),
  z.object({ type: z.literal('error'), error: z.unknown() }),
  z.object({ type: z.literal('other') }),
  z.object({ type: z.string() }).transform(() => ({ type: 'other' as const })),
]);
export type StreamPart = z.infer<typeof streamPart>;
