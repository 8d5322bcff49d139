import type { JsonValue, Part } from '../../protocol/index.ts';
import type { Usage } from '../usage.ts';
import type { CallOutput, CallResult, Entry, RequestedCall } from './conversation.ts';

/** What a call waits for. */
export type Ask =
  | { readonly request: 'confirmation'; readonly hint?: string }
  | {
      readonly request: 'credential';
      readonly scheme: string;
      readonly scopes?: readonly string[];
      readonly authorizationUrl?: string;
      readonly hint?: string;
    }
  /** The tool started its work; the caller sends the result. */
  | { readonly request: 'result'; readonly ticket: JsonValue }
  /** The tool asks by itself. */
  | {
      readonly request: 'answer';
      readonly question: readonly Part[];
      readonly isAuthorization: boolean;
      readonly state: JsonValue;
      /** Whether the tool goes on itself, or the answer is its result. */
      readonly resumes: boolean;
    };

/**
 * One call of a step, as plain JSON. It is **open** at first, **asking** while it waits for the
 * caller, and **done** once it has an output.
 */
export interface CallState extends RequestedCall {
  readonly isConfirmed?: boolean;
  /** The credential that the caller named. */
  readonly reference?: string;
  /** How often consent was asked for. */
  readonly consents?: number;
  readonly ask?: Ask;
  readonly output?: CallOutput;
}

export function isDone(call: CallState): call is CallState & { readonly output: CallOutput } {
  return call.output !== undefined;
}

/** A call that waits for the caller. */
export type Asking = CallState & { readonly ask: Ask };

export function isAsking(call: CallState): call is Asking {
  return call.ask !== undefined;
}

/** The call with its question answered. */
export function answered(call: CallState, change: Partial<CallState>): CallState {
  const { ask: _, ...rest } = call;
  return { ...rest, ...change };
}

export function toResult(call: CallState): CallResult {
  const output = call.output ?? { type: 'error', value: 'the call was not carried out' };
  return { id: call.id, name: call.name, output };
}

/** The state of a loop, over all turns of its task. */
export interface LoopState {
  /** The conversation, from the caller's first message on. */
  readonly entries: Entry[];
  /** Answers of the model so far. */
  iteration: number;
  usage: Usage;
  /** A tool asked to end the turn after its step. */
  endsTurn: boolean;
  /** A loop around the agent ends, too. */
  escalates: boolean;
}
