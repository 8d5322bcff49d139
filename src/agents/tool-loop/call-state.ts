import { z } from 'zod';
import { json, part } from '../stored.ts';
import { usage } from '../usage.ts';
import { callOutput, type CallResult, entry, requestedCall } from './conversation.ts';

/** What a call waits for. */
const ask = z.discriminatedUnion('request', [
  z.object({ request: z.literal('confirmation'), hint: z.string().exactOptional() }).readonly(),
  z
    .object({
      request: z.literal('credential'),
      scheme: z.string(),
      scopes: z.array(z.string()).readonly().exactOptional(),
      authorizationUrl: z.string().exactOptional(),
      hint: z.string().exactOptional(),
    })
    .readonly(),
  /** The tool has started its work; the caller sends the result. */
  z.object({ request: z.literal('result'), ticket: json }).readonly(),
  /** The tool asks the caller. */
  z
    .object({
      request: z.literal('answer'),
      question: z.array(part).readonly(),
      isAuthorization: z.boolean(),
      state: json,
      /** Whether the tool resumes with the answer, or the answer is its result. */
      resumes: z.boolean(),
    })
    .readonly(),
]);
export type Ask = z.infer<typeof ask>;

/**
 * One call of a step, as plain JSON. It is **open** at first, **asking** while it waits for the
 * caller, and **done** once it has an output.
 */
export const callState = requestedCall
  .extend({
    isConfirmed: z.boolean().exactOptional(),
    /** The name of the credential that the caller gave. */
    reference: z.string().exactOptional(),
    /** How often the caller was asked for consent. */
    consents: z.number().exactOptional(),
    ask: ask.exactOptional(),
    output: callOutput.exactOptional(),
  })
  .readonly();
export type CallState = z.infer<typeof callState>;

export function isDone(call: CallState): boolean {
  return call.output !== undefined;
}

/** A call that waits for the caller. */
export type Asking = CallState & { readonly ask: Ask };

export function isAsking(call: CallState): call is Asking {
  return call.ask !== undefined;
}

/** Returns the call with its question answered. */
export function answered(call: CallState, change: Partial<CallState>): CallState {
  const { ask: _, ...rest } = call;
  return { ...rest, ...change };
}

export function toResult(call: CallState): CallResult {
  const output = call.output ?? { type: 'error', value: 'the call was not carried out' };
  return { id: call.id, name: call.name, output };
}

export const loopState = z.object({
  /** The conversation, from the caller's first message on. */
  entries: z.array(entry),
  /** Answers of the model so far. */
  iteration: z.number(),
  usage,
  /** Whether a tool requested to end the turn after its step. */
  endsTurn: z.boolean().default(false),
  /** Whether an enclosing loop ends, too. */
  escalates: z.boolean().default(false),
});

/** The state of a loop, over all turns of its task. */
export type LoopState = z.infer<typeof loopState>;
