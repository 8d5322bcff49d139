import { z } from 'zod';
import {
  type JsonObject,
  type Message,
  type Part,
  type SendMessageResponse,
  type TaskState,
} from '../../protocol/index.ts';
import type { TransportKind } from '../directory/transport-kind.ts';

const object = (value: unknown): boolean => typeof value === 'object' && value !== null;
/** Messages were validated when they were sent; here only their shape is checked. */
const storedMessage = z.looseObject({ messageId: z.string(), parts: z.array(z.unknown()) });

const session = z.object({
  /** The conversation's context id. */
  id: z.string(),
  caller: z.object({
    tenant: z.string(),
    subject: z.string(),
    method: z.string(),
    displayName: z.string().exactOptional(),
    scopes: z.array(z.string()).readonly().exactOptional(),
  }),
});

/**
 * On whose behalf a peer is called, and in which conversation.
 * @example const session: InvocationSession = { id: turn.contextId, caller: turn.caller };
 */
export type InvocationSession = Readonly<z.infer<typeof session>>;

const question = z.object({
  /** Deduplicates questions that arrive twice. */
  id: z.string(),
  round: z.number(),
  parts: z.array(z.custom<Part>(object)).readonly(),
  text: z.string(),
  /** It asks for consent or credentials, which no model can give. */
  needsAuthorization: z.boolean(),
  /** A model that is trusted with it, or the user. */
  answerer: z.enum(['model', 'user']),
});

/**
 * A question of a peer that its task waits for.
 * @example
 * async function ask({ round, text, needsAuthorization }: PeerQuestion) {
 *   const prompt = needsAuthorization ? 'Allow this?' : 'Please answer:';
 *   return terminal.question(`${round}. ${prompt} ${text} `);
 * }
 */
export type PeerQuestion = Readonly<z.infer<typeof question>>;

/**
 * How an invocation ended: in a state of the task; `timed-out`, when the peer took too long;
 * `error`, when the peer or the transport failed.
 * @example const mayTryAgain = (end: InvocationEnd) => end === 'timed-out' || end === 'error';
 */
export type InvocationEnd =
  | Exclude<TaskState, 'TASK_STATE_SUBMITTED' | 'TASK_STATE_WORKING' | 'TASK_STATE_UNSPECIFIED'>
  | 'timed-out'
  | 'error';

const outcome = z.object({
  end: z.custom<InvocationEnd>((value) => typeof value === 'string'),
  /** What the peer answered, or what went wrong. */
  text: z.string(),
  /** The data parts of the answer. */
  data: z.array(z.custom<JsonObject>(object)).readonly(),
  /** The keys of the result in working memory; absent without a result, or if it did not fit. */
  keys: z
    .object({
      result: z.string(),
      data: z.string().exactOptional(),
      artifacts: z.string().exactOptional(),
    })
    .exactOptional(),
});

/**
 * The outcome of a call.
 * @example
 * const outcome: InvocationOutcome = {
 *   end: 'TASK_STATE_COMPLETED',
 *   text: 'Booked: seat 12A.',
 *   data: [{ seat: '12A', price: 89 }],
 *   keys: { result: 'session/c1/a2a/bob/t1/result', data: 'session/c1/a2a/bob/t1/data' },
 * };
 */
export type InvocationOutcome = Readonly<z.infer<typeof outcome>>;

/** The turn that made a call with `turn.peers`. */
const origin = z.object({
  taskId: z.string(),
  /** The agent within the turn: empty for the agent itself, a path for agents that it runs. */
  scope: z.string(),
  /** The id of the message of the turn, and the number of the call in it. */
  run: z.string(),
  number: z.number(),
  /** Whether the turn runs again after its process died, and finds the call. */
  isRepeatable: z.boolean(),
  /** What the agent saw when it got the question. */
  turn: z
    .object({
      message: z.custom<Message>((value) => storedMessage.safeParse(value).success),
      isContinuation: z.boolean(),
    })
    .exactOptional(),
});
export type InvocationOrigin = Readonly<z.infer<typeof origin>>;

/** An invocation as it is stored. */
export const invocationSchema = z.object({
  /** Our id of the task: the correlation id on the bus. */
  id: z.string(),
  agent: z.string(),
  skill: z.string(),
  /** The peer's card does not list the skill: the caller chose the name. */
  isSkillUnlisted: z.boolean().exactOptional(),
  transportKind: z.custom<TransportKind>((value) => typeof value === 'string'),
  session,
  /** Whether the conversation is notified of the outcome, or a caller waits for it. */
  mode: z.enum(['notify', 'wait']),
  state: z.enum(['sending', 'working', 'asking', 'ended']),
  /** The process that claimed it: others don't take it over while the lease of that process is valid. */
  process: z.string().exactOptional(),
  /** The peer's own ids. */
  remote: z
    .object({ taskId: z.string().exactOptional(), contextId: z.string().exactOptional() })
    .exactOptional(),
  origin: origin.exactOptional(),
  /** The last message sent. */
  message: z.custom<Message>((value) => storedMessage.safeParse(value).success),
  /** The text of the request. */
  request: z.string(),
  rounds: z.number(),
  question: question.exactOptional(),
  lastExchange: z.object({ digest: z.string(), count: z.number() }).exactOptional(),
  timeoutMs: z.number(),
  /** Milliseconds since 1970. */
  startedAt: z.number(),
  deadline: z.number(),
  outcome: outcome.exactOptional(),
  isNotified: z.boolean().exactOptional(),
  /** The cancellation has not reached the peer yet. */
  mustCancel: z.boolean().exactOptional(),
});

/**
 * A task that we sent to a peer.
 *
 * - **sending**: a message is being sent: the first, or the answer to a question.
 * - **working**: the peer has the message.
 * - **asking**: the peer waits for an answer, from a model or from the user.
 * - **ended**: it has an outcome; `isNotified` once the conversation has it, `mustCancel` until the
 *   peer has the cancellation.
 * @example
 * const { id, state, question }: Invocation = await invoker.wait('order-17');
 * if (state === 'asking') await invoker.answer(id, await terminal.question(question?.text));
 */
export type Invocation = Readonly<z.infer<typeof invocationSchema>>;

/** Whether nothing is left to do: it has ended, and conversation and peer are notified. */
export function isDone({ state, isNotified, mustCancel }: Invocation): boolean {
  return state === 'ended' && isNotified === true && mustCancel !== true;
}

/**
 * An event of an invocation from its transport, with the authenticated sender.
 * @example
 * const event: PeerEvent = { kind: 'progress', text: 'Reading page 3 of 9', sender: 'bob' };
 */
export type PeerEvent = { readonly sender?: string } &
  /** The peer's own ids became known. */
  (
    | { readonly kind: 'known'; readonly taskId: string; readonly contextId: string }
    /** `id` is that of the status message: a transport may deliver one twice. */
    | { readonly kind: 'progress'; readonly text: string; readonly id?: string }
    /** A turn of the peer has ended. */
    | { readonly kind: 'answer'; readonly response: SendMessageResponse }
    | { readonly kind: 'error'; readonly error: Error }
  );

/**
 * Handles an event of a transport; false for unknown invocations.
 * @example
 * const listener: PeerListener = async (invocationId, event) => {
 *   if (event.kind === 'progress') console.log(event.text);
 *   return underWay.has(invocationId);
 * };
 */
export type PeerListener = (invocationId: string, event: PeerEvent) => Promise<boolean>;

/**
 * A transport to peers.
 * @example
 * const sendsAgain = ({ deduplicates }: PeerTransport) => deduplicates;
 */
export interface PeerTransport {
  readonly transportKind: TransportKind;
  /** Whether the peer deduplicates messages by id, so that one may be sent again. */
  readonly deduplicates: boolean;
  /** Whether the agent authenticates its messages: unauthenticated ones are then dropped. */
  proves?(invocation: Invocation): boolean;
  /** Starts to pass events to the listener. */
  start(listener: PeerListener): Promise<void>;
  /** Sends the invocation's message. Resolves once it is sent; rejects if it was not. */
  send(invocation: Invocation): Promise<void>;
  /** Continues an invocation of a dead process. */
  resume(invocation: Invocation): Promise<void>;
  /** Cancels the task at the peer, and stops following it. */
  cancel(invocation: Invocation): Promise<void>;
  /** `expectsAnswers`: a later process may get answers to calls of this one. */
  stop(options: { readonly expectsAnswers: boolean }): Promise<void>;
}
