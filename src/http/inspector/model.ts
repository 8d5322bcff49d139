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
  /** As the agent itself serves it. */
  readonly card: AgentCard;
  readonly isAssistant: boolean;
}

export interface AboutView {
  readonly version: string;
  readonly agents: readonly AgentView[];
  /** The agent elsewhere that is inspected, in place of an agent of this server. */
  readonly target?: { readonly url: string; readonly name?: string; readonly card?: AgentCard };
  /** Whether the server calls agents over gRPC for the page. */
  readonly hasGrpc: boolean;
  readonly store: string;
  readonly hasPush: boolean;
  readonly hasNetwork: boolean;
  /** Whether other agents are called through the server. */
  readonly hasProxy: boolean;
  /** The last segment of the address of the built-in webhook receiver. */
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
 * The steps of a task, by attempts at its turns, oldest first. While `isLive`, steps are still added and
 * ended: ask again. A turn without steps is not listed.
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
  /** Of this delivery, from 1. */
  readonly attempt: number;
  readonly url: string;
  readonly outcome: DeliveryOutcome['kind'];
  readonly error?: string;
}

/** A call of the built-in webhook receiver. */
export interface ReceivedCall {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the body was truncated. */
  readonly isCut: boolean;
  /** `none`: the call is not signed. `unknown`: we have no keys to verify it with. */
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

/** What a list shows of a conversation. */
export interface ConversationDescription {
  /** The user's first message; empty before it. */
  readonly title: string;
  /** The latest message of either side. */
  readonly latest: string;
  /** The channel of the latest message: `inspector`, `a2a`, `rest`, ...; empty where it is not known. */
  readonly channel: string;
  /** When it changed last, in milliseconds since 1970. */
  readonly time: number;
  /** The latest messages, for searches. */
  readonly texts: readonly string[];
}

/** A conversation of one caller, over any channel. */
export interface ConversationSummary extends Omit<ConversationDescription, 'texts'> {
  /** The context id. */
  readonly id: string;
  readonly owner: OwnerView;
  /** Whether the operator can continue it: it is the operator's own. */
  readonly isOwn: boolean;
  /** Of its latest task. */
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
  /** Tracker JSON with all events, of an assistant. */
  readonly tracker?: JsonObject;
}

/** A conversation that was made from another one. */
export interface ForkView {
  readonly id: string;
}

/** A test of the project, by its file and name. */
export interface SavedTest {
  /** Relative to the project. */
  readonly file: string;
  readonly name: string;
}

export interface TestRunView {
  readonly name: string;
  readonly isPassed: boolean;
  readonly durationMs: number;
  /** The conversation of the test, to look at. */
  readonly contextId: string;
  /** The steps of the test up to the one that failed. */
  readonly steps: readonly TestStepView[];
}

export interface TestStepView {
  /** The user's message. */
  readonly user: string;
  /** What is expected of the answer. */
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
  /** Where it is called: a URL, or the name of its queue. */
  readonly address: string;
  readonly transport: 'http' | 'bus';
  readonly reach: 'reachable' | 'unreachable' | 'unknown';
  /** Milliseconds since 1970. */
  readonly lastSeen?: number;
  readonly lastError?: string;
  /** As it was received, so that it can be checked. */
  readonly card?: JsonObject;
  /** One of `NetworkProvider.levels`. */
  readonly trust: string;
  /** The skills it may use, at levels that require a list. */
  readonly approvedSkills?: readonly string[];
  readonly interactions?: number;
}

/** An agent that an assistant delegates to, as its project names it. */
export interface SubAgentView {
  /** Unique among nodes; opaque. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The name of the assistant, as in `OwnerView.agent`. */
  readonly caller: string;
  /** `A2A`: a remote agent. `code` and `model`: a part of the assistant, by a module or by a model. */
  readonly kind: 'A2A' | 'code' | 'model';
  /** Where its card is. */
  readonly address?: string;
  /** The card, where it is a file of the project. */
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
  /** In a few words. */
  readonly title: string;
  readonly detail?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Calls from one to the other, counted. */
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
  /** Grants or revokes; throws `LegateError` where that cannot be. Absent: trust is read-only. */
  setTrust?(
    peerId: string,
    change: { readonly level: string; readonly approvedSkills?: readonly string[] },
  ): Promise<void>;
  approvals?(): Promise<readonly ApprovalView[]>;
  decide?(approvalId: string, decision: 'approve' | 'reject'): Promise<void>;
  /** Calls to and from peers; ids are those of peers, or names of our agents. */
  calls?(): Promise<readonly CallsView[]>;
}
