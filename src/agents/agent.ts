import type {
  AgentSkill,
  Artifact,
  JsonObject,
  JsonValue,
  Message,
  Part,
} from '../protocol/index.ts';
import type { RecordWrite } from '../store/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { CommandHandler } from './command.ts';
import type { Steps } from './steps/step-log.ts';
import type { TurnPeers } from './turn-peers.ts';

/**
 * Handles turns. Transports, the runner, `agentTool` and the `call:` steps of flows drive an agent
 * through this interface only.
 * @example
 * const clock: Agent = {
 *   name: 'clock',
 *   description: 'Tells the time.',
 *   skills: [],
 *   async *take(turn) {
 *     yield artifact(new Date(turn.clock.now()).toISOString());
 *   },
 * };
 */
export interface Agent<Output = unknown> {
  /** Never set: carries the type of `output` in results, if the agent has a schema for it. */
  readonly outputType?: Output;
  /** The unique name. It must not change, since tasks are stored under it. */
  readonly name: string;
  /** Shown in the card in place of the name. @default the name */
  readonly title?: string;
  /** The name in metrics and traces. @default the name */
  readonly label?: string;
  /** What the agent does: shown in its card, and to models that can call it. */
  readonly description: string;
  readonly skills: readonly AgentSkill[];
  /**
   * Supported input media types, for the card and for admission.
   * @default ['text/plain', 'application/json']
   */
  readonly inputModes?: readonly string[];
  /** Output media types, for the card. @default ['text/plain', 'application/json'] */
  readonly outputModes?: readonly string[];
  /**
   * The scope in which turns run one at a time: the whole conversation (`context`, the default), or one
   * task (`task`), for agents that keep no conversation state.
   */
  readonly serialise?: 'context' | 'task';
  /**
   * With `message`, the agent can answer with a plain message and no task; its callers receive nothing
   * before its first event. An agent with `task` that answers with a message completes the task.
   * @default 'task'
   */
  readonly replies?: 'task' | 'message';
  /**
   * How to handle a turn whose process died: it fails, or runs again with its journal. As a step
   * of a workflow, only an agent with `fail` fails.
   * @default 'fail'; 'run-again' for agents that journal their work: `llmAgent`, `sequential`,
   * `parallel`, `loop` and `route`
   */
  readonly onInterrupted?: 'fail' | 'run-again';
  /**
   * Whether a new task in a context supersedes the context's older input-required task. The older task
   * keeps its state and gets one last status that names its successor (`superseded_by`). For agents
   * whose conversation has one state. @default false
   */
  readonly supersedes?: boolean;
  /** Typed calls that are queued in the agent's conversations (`Engine.command`). @default none */
  readonly commands?: readonly CommandHandler[];
  /**
   * Fetches `title`, `description` and `skills` if they come from elsewhere. Called before the card is
   * built and before a model is offered the agent. Never rejects.
   */
  prepare?(signal?: AbortSignal): Promise<void>;
  /**
   * Returns why the agent is unavailable, such as a lost connection to the broker; undefined while it
   * is available. While it is unavailable, new messages are rejected with `UNAVAILABLE` (503), and
   * tasks stay readable. @default undefined
   */
  unavailable?(): string | undefined;
  /** The consumer pulls events, which gives backpressure. `return()` cancels the turn. */
  take(turn: Turn): AsyncIterable<TurnEvent>;
  /**
   * Called when a task was cancelled while no turn of it ran, or after the process of its turn died
   * (then `attempt` is more than 1, and the journal is that turn's). The result is saved with the
   * cancellation: the context state without the abandoned work, and parts that explain it.
   */
  abandon?(turn: Turn): Promise<Omit<TurnEnd, 'kind'> | undefined>;
}

/**
 * The authenticated caller, established by the transport and never by the message.
 * @example const caller: Caller = { tenant: '', subject: 'ada', method: 'jwt', scopes: ['orders:read'] };
 */
export interface Caller {
  /** @default '' (no tenants) */
  readonly tenant: string;
  /** Empty for anonymous callers. */
  readonly subject: string;
  /** The authentication method: `anonymous`, `jwt`, `api-key`, `mtls`, ... */
  readonly method: string;
  readonly displayName?: string;
  readonly scopes?: readonly string[];
}

/**
 * One message to an agent, with its caller, state and cancellation signal.
 * @example
 * async function* take(turn: Turn) {
 *   if (turn.isContinuation) yield completed(`Booked for ${textOf(turn.message)}.`);
 *   else yield inputRequired('For which day?');
 * }
 */
export interface Turn {
  readonly message: Message;
  readonly taskId: string;
  readonly contextId: string;
  readonly caller: Caller;
  /** Metadata of the request (the message has its own). */
  readonly metadata: JsonObject;
  readonly acceptedOutputModes: readonly string[];
  /** URIs of the extensions that the caller requested and the agent declares. */
  readonly extensions: readonly string[];
  /** Whether this message continues an interrupted task. */
  readonly isContinuation: boolean;
  /** 1 for the first run; more when the turn runs again after its process died. */
  readonly attempt: number;
  /** Earlier messages of this task, oldest first, without the current one. */
  history(): Promise<readonly Message[]>;
  readonly state: ContextState;
  /** Values by scope, most of which outlive the turn. */
  readonly session: Session;
  /** The agents of `peers:` in endpoints.yml. */
  readonly peers: TurnPeers;
  /**
   * The journal of a turn that can run again after its process died; absent if the turn never runs
   * again.
   */
  readonly journal?: Journal | undefined;
  /** Records the steps of the agent; absent if steps are not recorded. */
  readonly steps?: Steps | undefined;
  /** Aborts on cancellation, timeout and shutdown; `reason` is the cause. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The state that an agent keeps of a conversation, saved in the transaction that ends the turn.
 * @example
 * async function cityOf(state: ContextState) {
 *   const value = await state.load();
 *   return value?.['city'] ?? 'Bern';
 * }
 */
export interface ContextState {
  /** The last saved value, or undefined in a new conversation. */
  load(): Promise<JsonObject | undefined>;
  /** Entries appended in earlier turns, oldest first. */
  log(options?: { readonly last?: number }): Promise<readonly JsonObject[]>;
}

/**
 * The changes of a turn to the state of its conversation.
 * @example
 * const context: ContextPatch = { value: { city: 'Bern' }, log: [{ asked: 'forecast' }] };
 * yield completed('Sunny, 24 degrees.', { context });
 */
export interface ContextPatch {
  /** Replaces the saved value; keep it bounded. */
  readonly value?: JsonObject;
  /** Appended to the context's log. The cost does not depend on the length of the log. */
  readonly log?: readonly JsonObject[];
  /** Records to be written in the same transaction. */
  readonly records?: readonly RecordWrite[];
}

/**
 * Named values beside the agent's own context state. The prefix of a key is its scope: `app:` is shared
 * by all callers of the agent, `user:` belongs to the caller (for anonymous callers, to the
 * conversation), `temp:` ends with the turn, and every other key belongs to the conversation. Changes
 * are visible at once to all agents of the turn, and are saved when the turn ends.
 * @example
 * async function countVisit(session: Session) {
 *   const visits = Number((await session.get('user:visits')) ?? 0);
 *   session.set('user:visits', visits + 1);
 * }
 */
export interface Session {
  get(key: string): Promise<JsonValue | undefined>;
  set(key: string, value: JsonValue): void;
  delete(key: string): void;
  /** All values, by their full keys. */
  entries(): Promise<ReadonlyMap<string, JsonValue>>;
}

/**
 * Durable entries of a turn, so that a rerun does not repeat side effects. An entry is durable once
 * its promise resolves; all entries are deleted when the turn ends.
 * @example
 * async function mailOnce(journal: Journal) {
 *   if (await journal.claim('confirmation', orderId)) await sendMail(orderId);
 * }
 */
export interface Journal {
  read(key: string): Promise<JsonValue | undefined>;
  /** Writes a value unless the key exists. Returns false if it does, perhaps from an earlier attempt. */
  claim(key: string, value: JsonValue): Promise<boolean>;
  write(key: string, value: JsonValue): Promise<void>;
}

/**
 * Returns the current time; tests can replace it.
 * @example const noon: Clock = { now: () => Date.UTC(2026, 0, 1, 12) };
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Any event that an agent can yield.
 * @example
 * async function* take(): AsyncIterable<TurnEvent> {
 *   yield working('One moment');
 *   yield artifact('done');
 * }
 */
export type TurnEvent =
  /** A whole artifact, created or replaced. */
  Artifact | ArtifactChunk | Working | Reply | TurnEnd;

/**
 * A chunk of an artifact.
 * @example
 * const ending: ArtifactChunk = {
 *   kind: 'chunk',
 *   artifact: { artifactId: 'report', parts: [text('Total: 42 francs')] },
 *   append: true,
 *   lastChunk: true,
 * };
 */
export interface ArtifactChunk {
  readonly kind: 'chunk';
  readonly artifact: Artifact;
  /** Extends the artifact with that id instead of replacing it. */
  readonly append: boolean;
  /** Completes the artifact. */
  readonly lastChunk: boolean;
}

/**
 * Progress, as text or data.
 * @example const progress: Working = { kind: 'working', parts: [text('Page 3 of 12')], metadata: { page: 3 } };
 */
export interface Working {
  readonly kind: 'working';
  readonly parts?: readonly Part[];
  readonly metadata?: JsonObject;
}

/**
 * A plain message instead of a task; must be the only event of its turn.
 * @example const hours: Reply = { kind: 'message', parts: [text('We are open from 9 to 17.')] };
 */
export interface Reply {
  readonly kind: 'message';
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject;
  readonly context?: ContextPatch;
}

/**
 * How a turn can end.
 * @example const waitsForCaller = (kind: EndKind) => kind === 'input-required' || kind === 'auth-required';
 */
export type EndKind =
  | 'completed'
  | 'input-required'
  | 'auth-required'
  | 'rejected'
  | 'failed'
  | 'canceled';

/**
 * Ends the turn. A turn without an end event completes.
 * @example const end: TurnEnd = { kind: 'rejected', parts: [text('Orders are taken from 9 to 17 only.')] };
 */
export interface TurnEnd {
  readonly kind: EndKind;
  readonly parts?: readonly Part[];
  /** Metadata of the status event, and of the task. */
  readonly metadata?: JsonObject;
  readonly context?: ContextPatch;
  /**
   * Why the turn failed: a `LegateError` (code, cause) if a model or a remote agent failed. For
   * programs that run the agent themselves; never stored or sent.
   */
  readonly error?: unknown;
}
