import type { Caller } from '../../agents/index.ts';
import type {
  JsonObject,
  Message,
  Part,
  SendMessageResponse,
  TaskState,
} from '../../protocol/index.ts';
import type { TransportKind } from '../directory/index.ts';

/**
 * On whose behalf a peer is called, and in which conversation.
 * @example const session: InvocationSession = { id: turn.contextId, caller: turn.caller };
 */
export interface InvocationSession {
  /** The conversation's context id. */
  readonly id: string;
  readonly caller: Caller;
}

/**
 * A question of a peer that its task waits for.
 * @example
 * async function ask({ round, text, needsAuthorization }: PeerQuestion) {
 *   const prompt = needsAuthorization ? 'Allow this?' : 'Please answer:';
 *   return terminal.question(`${round}. ${prompt} ${text} `);
 * }
 */
export interface PeerQuestion {
  readonly round: number;
  readonly parts: readonly Part[];
  readonly text: string;
  /** It asks for consent or credentials, which no model can give. */
  readonly needsAuthorization: boolean;
  /** A model that is trusted with it, or the user. */
  readonly answerer: 'model' | 'user';
}

/**
 * How an invocation ended: in a state of the task; `timed-out`, when the peer took too long;
 * `error`, when it or the way to it failed.
 * @example const mayTryAgain = (end: InvocationEnd) => end === 'timed-out' || end === 'error';
 */
export type InvocationEnd =
  | Exclude<TaskState, 'TASK_STATE_SUBMITTED' | 'TASK_STATE_WORKING' | 'TASK_STATE_UNSPECIFIED'>
  | 'timed-out'
  | 'error';

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
export interface InvocationOutcome {
  readonly end: InvocationEnd;
  /** In words: what the peer said, or what went wrong. */
  readonly text: string;
  /** The data parts of the answer. */
  readonly data: readonly JsonObject[];
  /** Where the result is kept in working memory; absent where there is none or it did not fit. */
  readonly keys?: { readonly result: string; readonly data?: string; readonly artifacts?: string };
}

/**
 * One task that we gave to a peer.
 *
 * - **sending**: a message is on its way: the first, or the answer to a question.
 * - **working**: the peer has it.
 * - **asking**: the peer waits for an answer, from a model or from the user.
 * - **ended**: it has an outcome; `isNotified` once the conversation has it, `mustCancel` until the
 *   peer has the cancellation.
 * @example
 * const { id, state, question }: Invocation = await invoker.wait('order-17');
 * if (state === 'asking') await invoker.answer(id, await terminal.question(question?.text));
 */
export interface Invocation {
  /** Our id of the task: the correlation id on the bus. */
  readonly id: string;
  readonly agent: string;
  readonly skill: string;
  readonly transportKind: TransportKind;
  readonly session: InvocationSession;
  /** Whether the conversation is notified of the outcome, or a caller waits for it. */
  readonly mode: 'notify' | 'wait';
  readonly state: 'sending' | 'working' | 'asking' | 'ended';
  /** The process that claimed it: others leave it alone while its lease is valid. */
  readonly process?: string;
  /** The peer's own ids. */
  readonly remote?: { readonly taskId?: string; readonly contextId?: string };
  /** The last message sent. */
  readonly message: Message;
  /** The text of the request. */
  readonly request: string;
  readonly rounds: number;
  readonly question?: PeerQuestion & { readonly id: string };
  readonly lastExchange?: { readonly digest: string; readonly count: number };
  readonly timeoutMs: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly deadline: number;
  readonly outcome?: InvocationOutcome;
  readonly isNotified?: boolean;
  /** The cancellation has not reached the peer yet. */
  readonly mustCancel?: boolean;
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
    | { readonly kind: 'progress'; readonly text: string }
    /** A turn of the peer is over. */
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
 * const transports: readonly PeerTransport[] = [
 *   new BusTransport({ bus, name: 'desk', directory }),
 *   new HttpTransport({ directory, grpc: (policy) => grpcBinding({ policy }) }),
 * ];
 */
export interface PeerTransport {
  readonly transportKind: TransportKind;
  /** Whether the peer deduplicates messages by id, so that one may be sent again. */
  readonly deduplicates: boolean;
  /** Whether the agent's messages are authenticated: others are then dropped. */
  proves?(invocation: Invocation): boolean;
  /** Starts to pass events to the listener. */
  start(listener: PeerListener): Promise<void>;
  /** Sends the invocation's message. Resolves once it is sent; rejects if it was not. */
  send(invocation: Invocation): Promise<void>;
  /** Continues an invocation of a dead process. */
  resume(invocation: Invocation): Promise<void>;
  /** Cancels the task at the peer, and stops following it. */
  cancel(invocation: Invocation): Promise<void>;
  stop(): Promise<void>;
}
