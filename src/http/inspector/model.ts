/**
 * What the inspector's API says, as JSON. The page imports these types, so this file must not import
 * anything that a browser lacks.
 */
import type {
  AgentCard,
  JsonObject,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '../../protocol/index.ts';

/** Who is behind an owner key. */
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
  readonly store: string;
  readonly hasPush: boolean;
  readonly hasNetwork: boolean;
  /** Whether other agents are called through the server. */
  readonly hasProxy: boolean;
  /** The last segment of the address of the built-in webhook receiver. */
  readonly receiverKey: string;
  /** Who looks. */
  readonly operator: string;
}

export interface TaskSummary {
  readonly id: string;
  readonly contextId: string;
  readonly owner: OwnerView;
  readonly state: TaskState;
  /** The number of its last event. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly statusTime: number;
  readonly cancelRequested: boolean;
  readonly hasPush: boolean;
  /** What was asked, shortened. */
  readonly request: string;
}

export interface TaskListView {
  readonly tasks: readonly TaskSummary[];
  readonly total: number;
  /** Goes into `after` of the next page; absent on the last one. */
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

export interface PushConfigView {
  readonly taskId: string;
  readonly wireVersion: '0.3' | '1.0';
  /** Without its secrets. */
  readonly config: TaskPushNotificationConfig;
}

export interface DeliveryView {
  readonly id: number;
  readonly taskId: string;
  readonly sequence: number;
  readonly attempts: number;
  readonly state: 'pending' | 'dead';
  /** Milliseconds since 1970. */
  readonly nextAttemptAt: number;
  readonly lastError?: string;
  readonly url: string;
  readonly configId: string;
}

/** A call to a webhook that came to its end. */
export interface AttemptView {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly taskId: string;
  readonly sequence: number;
  /** Of this delivery, from 1. */
  readonly attempt: number;
  readonly url: string;
  /** `retry`: it is tried again. `dead`: it was given up. */
  readonly outcome: 'delivered' | 'retry' | 'dead';
  readonly error?: string;
}

/** A call that the built-in webhook receiver took. */
export interface ReceivedCall {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether more came than is kept. */
  readonly isCut: boolean;
  /** `none`: the call is not signed. `unknown`: by keys that are not ours. */
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
  /** What the step names: an action, a slot, a flow, an agent. */
  readonly target?: string;
  readonly detail?: string;
  readonly next: readonly { readonly if?: string; readonly to: string }[];
}

export interface ConversationView {
  readonly id: string;
  /** Tracker JSON, with all events. */
  readonly tracker: JsonObject;
}

/** What changed since the last notice. */
export interface LiveNotice {
  readonly tasks?: readonly { readonly id: string; readonly contextId: string }[];
  /** Conversations that were asked about and went on. */
  readonly contexts?: readonly string[];
  readonly push?: true;
  readonly receiver?: true;
}

export interface CardCheckView {
  readonly signatures: number;
  readonly verified?: { readonly kid: string; readonly form: string };
  /** Why no signature holds. */
  readonly problem?: string;
}

export interface ErrorView {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly violations?: readonly { readonly field: string; readonly description: string }[];
  };
}

export type { JsonObject };
