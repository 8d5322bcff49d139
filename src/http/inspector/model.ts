/** The JSON of the inspector's API. Types only: the page imports them too. */
import type { TurnSteps } from '../../agents/index.ts';
import type { AgentCard, JsonObject, StreamResponse, Task } from '../../protocol/index.ts';
import type {
  DeliveryOutcome,
  DeliveryRecord,
  PushRegistration,
  TaskRecord,
} from '../../store/index.ts';

/** An owner key, decoded. */
export interface OwnerView {
  /** The key itself, for filters. */
  readonly key: string;
  readonly agent: string;
  readonly tenant: string;
  /** Empty for anonymous callers. */
  readonly subject: string;
}

export interface AgentView {
  /** The agent's own name, as in `OwnerView`. */
  readonly name: string;
  /** The card that the agent serves. */
  readonly card: AgentCard;
  readonly isAssistant: boolean;
}

export interface AboutView {
  readonly version: string;
  readonly agents: readonly AgentView[];
  /** The remote agent that is inspected instead of an agent of this server. */
  readonly target?: { readonly url: string; readonly name?: string; readonly card?: AgentCard };
  /** Whether the server calls agents over gRPC for the page. */
  readonly hasGrpc: boolean;
  readonly store: string;
  readonly hasPush: boolean;
  readonly hasNetwork: boolean;
  /** Whether the page calls other agents through the server. */
  readonly hasProxy: boolean;
  /** The last segment of the URL of the built-in webhook receiver. */
  readonly receiverKey: string;
  /** The subject of the operator. */
  readonly operator: string;
}

/** A task in a list; `version` is the number of its last event. */
export interface TaskSummary extends Pick<
  TaskRecord,
  'id' | 'contextId' | 'state' | 'version' | 'statusTime' | 'cancelRequested' | 'hasPush'
> {
  readonly owner: OwnerView;
  /** The caller's first message, shortened. */
  readonly request: string;
}

export interface TaskListView {
  readonly tasks: readonly TaskSummary[];
  readonly total: number;
  /** The `after` of the next page; absent on the last one. */
  readonly next?: string;
}

export interface TaskView {
  readonly summary: TaskSummary;
  readonly task: Task;
}

export interface LoggedEvent {
  readonly sequence: number;
  readonly body: StreamResponse;
}

export interface EventsView {
  readonly events: readonly LoggedEvent[];
  /** The number of the task's last event. */
  readonly version: number;
}

/**
 * The steps of a task by attempts of its turns, oldest first. While `isLive`, further steps follow:
 * request them again. Turns without steps are not listed.
 */
export interface StepsView {
  readonly turns: readonly TurnSteps[];
  readonly isLive: boolean;
}

/** A registered webhook, without its secrets. */
export interface PushConfigView extends PushRegistration {
  readonly taskId: string;
}

export interface DeliveryView extends Pick<
  DeliveryRecord,
  'id' | 'taskId' | 'sequence' | 'attempts' | 'state' | 'nextAttemptAt' | 'lastError'
> {
  readonly url: string;
  readonly configId: string;
}

/** A finished call to a webhook. */
export interface AttemptView extends Pick<DeliveryRecord, 'taskId' | 'sequence'> {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** The number of the attempt of this delivery, from 1. */
  readonly attempt: number;
  readonly url: string;
  readonly outcome: DeliveryOutcome['kind'];
  readonly error?: string;
}

/** A call to the built-in webhook receiver. */
export interface ReceivedCall {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the body was truncated. */
  readonly isCut: boolean;
  /** `none`: the call is not signed. `unknown`: the server has no keys to verify it. */
  readonly signature: 'none' | 'valid' | 'invalid' | 'unknown';
}

export interface FlowView {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly isPattern: boolean;
  readonly guard?: string;
  readonly first: string;
  readonly steps: readonly StepView[];
}

export interface StepView {
  readonly id: string;
  readonly kind: 'action' | 'collect' | 'set_slots' | 'noop' | 'link' | 'call';
  /** The step in a few words. */
  readonly title: string;
  /** The action, slot, flow or agent that the step refers to. */
  readonly target?: string;
  readonly detail?: string;
  readonly next: readonly { readonly if?: string; readonly to: string }[];
}

/** The summary of a conversation in a list. */
export interface ConversationDescription {
  /** The user's first message; empty if there is none. */
  readonly title: string;
  /** The latest message of either side. */
  readonly latest: string;
  /** The channel of the latest message: `inspector`, `a2a`, `rest`, ...; empty if unknown. */
  readonly channel: string;
  /** The time of the last change, in milliseconds since 1970. */
  readonly time: number;
  /** The latest messages, for searches. */
  readonly texts: readonly string[];
}

/** A conversation of one caller in any channel. */
export interface ConversationSummary extends Omit<ConversationDescription, 'texts'> {
  /** The context id. */
  readonly id: string;
  readonly owner: OwnerView;
  /** Whether the operator owns the conversation and can continue it. */
  readonly isOwn: boolean;
  /** The state of the latest task. */
  readonly state?: TaskRecord['state'];
}

export interface ConversationListView {
  readonly conversations: readonly ConversationSummary[];
  /** The `after` of the next page; absent on the last one. */
  readonly next?: string;
}

/** A conversation with all its messages. */
export interface TranscriptView {
  readonly summary: ConversationSummary;
  /** Its tasks, oldest first. */
  readonly tasks: readonly Task[];
  /** Tracker JSON with all events; only for assistants. */
  readonly tracker?: JsonObject;
}

/** A conversation forked from another one. */
export interface ForkView {
  readonly id: string;
}

/** A test of the project. */
export interface SavedTest {
  /** The path of the test file, relative to the project. */
  readonly file: string;
  readonly name: string;
}

export interface TestRunView {
  readonly name: string;
  readonly isPassed: boolean;
  readonly durationMs: number;
  /** The conversation of the test. */
  readonly contextId: string;
  /** The steps of the test up to the one that failed. */
  readonly steps: readonly TestStepView[];
}

export interface TestStepView {
  /** The user's message. */
  readonly user: string;
  /** The assertions on the answer. */
  readonly checks: readonly string[];
  readonly failures: readonly {
    readonly expected: string;
    /** What happened instead, one line each. */
    readonly found: readonly string[];
  }[];
}

export interface ConversationView {
  readonly id: string;
  /** Tracker JSON, with all events. */
  readonly tracker: JsonObject;
}

/** The changes since the last notice. */
export interface LiveNotice {
  readonly tasks?: readonly { readonly id: string; readonly contextId: string }[];
  /** The conversation of the query, if it has new events. */
  readonly context?: string;
  readonly push?: true;
  readonly receiver?: true;
}

export interface CardCheckView {
  readonly signatures: number;
  readonly verified?: { readonly kid: string; readonly form: string };
  /** Why no signature is valid. */
  readonly problem?: string;
}

export interface ErrorView {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly violations?: readonly { readonly field: string; readonly description: string }[];
  };
}

/** Another agent in the directory. */
export interface PeerView {
  /** Unique among peers; opaque. */
  readonly id: string;
  readonly name: string;
  /** A URL, or the name of the peer's queue. */
  readonly address: string;
  readonly transport: 'http' | 'bus';
  readonly reach: 'reachable' | 'unreachable' | 'unknown';
  /** Milliseconds since 1970. */
  readonly lastSeen?: number;
  readonly lastError?: string;
  /** The card as received, so that its signatures can be verified. */
  readonly card?: JsonObject;
  /** One of `NetworkProvider.levels`. */
  readonly trust: string;
  /** The skills that the peer can use, at levels that require a list. */
  readonly approvedSkills?: readonly string[];
  readonly interactions?: number;
}

/** An agent that an assistant delegates to, by its name in the project. */
export interface SubAgentView {
  /** Unique among nodes; opaque. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The name of the assistant, as in `OwnerView.agent`. */
  readonly caller: string;
  /** `A2A`: a remote agent. `code` or `model`: a part of the assistant, run by a module or a model. */
  readonly kind: 'A2A' | 'code' | 'model';
  /** The URL of the card. */
  readonly address?: string;
  /** The card, if it is a file of the project. */
  readonly card?: JsonObject;
}

/** The permissions of a peer; levels are listed from least to most. */
export interface TrustLevel {
  readonly name: string;
  readonly description: string;
}

/** A request of a peer that waits for an operator's decision. */
export interface ApprovalView {
  readonly id: string;
  readonly peerId: string;
  /** A short description of the request. */
  readonly title: string;
  readonly detail?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** The number of calls from one node to another. */
export interface CallsView {
  /** Ids of nodes. */
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly failed: number;
  /** Milliseconds since 1970. */
  readonly lastAt?: number;
}

export interface NetworkNode {
  readonly id: string;
  readonly kind: 'caller' | 'agent' | 'peer' | 'sub-agent' | 'webhook';
  readonly name: string;
  readonly detail?: string;
}

/** The known agents and their trust. */
export interface PeersView {
  readonly levels: readonly TrustLevel[];
  readonly canSetTrust: boolean;
  readonly peers: readonly PeerView[];
  readonly subAgents: readonly SubAgentView[];
}

export interface NetworkPicture {
  readonly nodes: readonly NetworkNode[];
  readonly calls: readonly CallsView[];
}

/**
 * The network: a directory of peers and their trust.
 * @example
 * await serve(agent, { inspect: { network: { levels, peers: () => directory.list(), setTrust } } });
 */
export interface NetworkProvider {
  readonly levels: readonly TrustLevel[];
  peers(): Promise<readonly PeerView[]>;
  /** Sets the trust of a peer; throws `LegateError` on failure. Absent: trust is read-only. */
  setTrust?(
    peerId: string,
    change: { readonly level: string; readonly approvedSkills?: readonly string[] },
  ): Promise<void>;
  approvals?(): Promise<readonly ApprovalView[]>;
  decide?(approvalId: string, decision: 'approve' | 'reject'): Promise<void>;
  /** Calls to and from peers. Node ids are ids of peers, or names of this server's agents. */
  calls?(): Promise<readonly CallsView[]>;
}
