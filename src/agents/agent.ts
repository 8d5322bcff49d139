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
 * Anything that can take a turn. Every transport, the runner, `agentTool` and a flow's `call:` step
 * drive an agent through this interface and no other.
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
  /** Never set: the type of `output` in results, where the agent has a schema for it. */
  readonly outputType?: Output;
  /** Never changes: its tasks are stored under it. */
  readonly name: string;
  /** Shown in the card in place of the name. @default the name */
  readonly title?: string;
  /** Its name in metrics and traces. @default the name */
  readonly label?: string;
  /** What the agent does: shown in its card, and to models that may call it. */
  readonly description: string;
  readonly skills: readonly AgentSkill[];
  /** Media types understood, for the card and for admission. @default ['text/plain', 'application/json'] */
  readonly inputModes?: readonly string[];
  /** Media types produced, for the card. @default ['text/plain', 'application/json'] */
  readonly outputModes?: readonly string[];
  /**
   * What runs one turn at a time: the whole conversation (`context`, the default), or only the
   * turns of one task (`task`), for agents that keep no conversation state.
   */
  readonly serialise?: 'context' | 'task';
  /**
   * `message` says that the agent may answer with a plain message and no task; its callers then
   * learn nothing before its first event. An undeclared message becomes a completed task.
   * @default 'task'
   */
  readonly replies?: 'task' | 'message';
  /**
   * How to handle a turn whose process died: it fails, or runs again with its journal. As a step
   * of a workflow, only an agent with `fail` fails.
   * @default 'fail'; 'run-again' for agents that journal what they do: `llmAgent`, `sequential`,
   * `parallel`, `loop` and `route`
   */
  readonly onInterrupted?: 'fail' | 'run-again';
  /**
   * A new task in a context takes over from the context's older input-required task, which stays so with
   * one last status that names its successor (`superseded_by`): for agents whose conversation has one
   * state. @default false
   */
  readonly supersedes?: boolean;
  /** Typed calls that are queued in the agent's conversations (`Engine.command`). @default none */
  readonly commands?: readonly CommandHandler[];
  /**
   * Learns what the agent says of itself (`title`, `description`, `skills`) where that comes from
   * elsewhere. Called before a card is made of it and before a model is offered it. Never rejects.
   */
  prepare?(signal?: AbortSignal): Promise<void>;
  /**
   * Why the agent can take no turn at present, such as a broker that is away; undefined while it can. New
   * messages are refused with `UNAVAILABLE` (503) meanwhile, and tasks stay readable. @default undefined
   */
  unavailable?(): string | undefined;
  /** Pull: the consumer's pace is the agent's back-pressure, and `return()` its cancellation. */
  take(turn: Turn): AsyncIterable<TurnEvent>;
  /**
   * A task was cancelled while no turn of it ran, or after the process of its turn died (`attempt` is
   * then more than 1, and the journal is that turn's). Whatever the agent returns is saved with the
   * cancellation: the context state without the abandoned work, and parts to explain it.
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
  /** How the identity was established: `anonymous`, `jwt`, `api-key`, `mtls`, ... */
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
  /** URIs of the extensions that the caller asked for and the agent declares. */
  readonly extensions: readonly string[];
  /** Whether this message continues an interrupted task. */
  readonly isContinuation: boolean;
  /** 1, and more when the turn runs again after its process died. */
  readonly attempt: number;
  /** Earlier messages of this task, oldest first, without the present one. */
  history(): Promise<readonly Message[]>;
  readonly state: ContextState;
  /** Values that outlive the turn, by scope. */
  readonly session: Session;
  /** Other agents: those of `peers:` in endpoints.yml. */
  readonly peers: TurnPeers;
  /** The journal of a turn that may run again after its process died; absent where it never does. */
  readonly journal?: Journal | undefined;
  /** Where the agent notes its steps; absent where they are not recorded. */
  readonly steps?: Steps | undefined;
  /** Aborts on cancel, timeout and shutdown; `reason` says which. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What an agent keeps of a conversation, saved in the transaction that ends the turn.
 * @example
 * async function cityOf(state: ContextState) {
 *   const value = await state.load();
 *   return value?.['city'] ?? 'Bern';
 * }
 */
export interface ContextState {
  /** The value saved last, or undefined in a new conversation. */
  load(): Promise<JsonObject | undefined>;
  /** Entries appended in former turns, oldest first. */
  log(options?: { readonly last?: number }): Promise<readonly JsonObject[]>;
}

/**
 * How a turn changes what is kept of its conversation.
 * @example
 * const context: ContextPatch = { value: { city: 'Bern' }, log: [{ asked: 'forecast' }] };
 * yield completed('Sunny, 24 degrees.', { context });
 */
export interface ContextPatch {
  /** Replaces the saved value; keep it bounded. */
  readonly value?: JsonObject;
  /** Appended to the context's log; costs the same however long the log is. */
  readonly log?: readonly JsonObject[];
  /** Records to be written in the same transaction. */
  readonly records?: readonly RecordWrite[];
}

/**
 * Named values beside the agent's own context state. The prefix of a key is its scope: `app:` is
 * shared by all callers of the agent, `user:` belongs to the caller (to the conversation where the
 * caller is anonymous), `temp:` ends with the turn, and every other key belongs to the conversation.
 * Changes are visible at once to all agents of the turn, and are saved when the turn ends.
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
  /** All values that are set, by their full keys. */
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
  /** Writes a value unless the key has one. False: it has, perhaps from an earlier attempt. */
  claim(key: string, value: JsonValue): Promise<boolean>;
  write(key: string, value: JsonValue): Promise<void>;
}

/**
 * The current time; replaceable in tests.
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
  /** A whole artifact, made or replaced. */
  Artifact | ArtifactChunk | Working | Reply | TurnEnd;

/**
 * A piece of an artifact.
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
  /** Extends the artifact of that id instead of replacing it. */
  readonly append: boolean;
  /** Closes the artifact. */
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
 * Ends the turn. A turn that ends without one is completed.
 * @example const end: TurnEnd = { kind: 'rejected', parts: [text('Orders are taken from 9 to 17 only.')] };
 */
export interface TurnEnd {
  readonly kind: EndKind;
  readonly parts?: readonly Part[];
  /** Metadata of the status event, and of the task. */
  readonly metadata?: JsonObject;
  readonly context?: ContextPatch;
  /**
   * Why the turn failed: a `LegateError` (code, cause) where a model or a remote agent did. For
   * programs that run the agent themselves; never stored or sent.
   */
  readonly error?: unknown;
}
