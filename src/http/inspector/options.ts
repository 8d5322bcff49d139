import type { Caller } from '../../agents/index.ts';
import type { ClientBinding, RequestPreparer } from '../../client/index.ts';
import type { AgentCard, JsonObject, JsonValue, OptionNames } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { InspectorAccess } from './access.ts';
import type {
  ConversationDescription,
  FlowView,
  NetworkProvider,
  SavedTest,
  SubAgentView,
  TestRunView,
} from './model.ts';

/**
 * The content of the inspector, and its access control.
 * @example
 * const options: InspectorOptions = {
 *   isOperator: ({ subject }) => subject === 'ada',
 *   proxy: true,
 *   receiverLimit: 50,
 *   token: process.env.INSPECT_TOKEN ?? '', // unset: refused at the start
 * };
 */
export interface InspectorOptions {
  /**
   * Decides which authenticated callers are operators, who can see the tasks of all callers.
   * @default callers with the scope `inspect`
   */
  readonly isOperator?: (caller: Caller) => boolean;
  /**
   * Lets the page call other agents through the server, after the operator connected to them. `true`
   * allows any URL on a server that only this machine can reach, and public https URLs on other servers.
   * @default false
   */
  readonly proxy?: boolean | { readonly policy: UrlPolicy };
  /**
   * The token of the page's link. @default a random one for each start
   */
  readonly token?: string;
  /** Other agents, their trust, and calls between them. @default none */
  readonly network?: NetworkProvider;
  /** Number of calls that the webhook receiver keeps. @default 200 */
  readonly receiverLimit?: number;
  /** An additional way to authenticate operators, besides the token and the callers. @default none */
  readonly access?: InspectorAccess;
  /** Flows and conversations to show. @default none */
  readonly assistant?: InspectedAssistant;
  /** A remote agent to inspect instead of the served agent; needs `proxy`. @default none */
  readonly target?: InspectedTarget;
  /** Bindings besides HTTP for calls of other agents, loaded on first use. @default none */
  readonly bindings?: () => Promise<readonly ClientBinding[]>;
  /** The version that the page shows. @default '' */
  readonly version?: string;
  /** Clock, timers and ids. @default the system's */
  readonly scheduler?: Scheduler;
}

/** The names of the options of the inspector. */
export const inspectorOptionNames: OptionNames<InspectorOptions> = {
  isOperator: 'function',
  proxy: { oneOf: ['boolean', { names: { policy: true }, required: ['policy'] }] },
  token: 'string',
  network: 'object',
  receiverLimit: 'number',
  access: { oneOf: ['object', 'function'] },
  assistant: 'object',
  target: 'object',
  bindings: 'function',
  version: 'string',
  scheduler: 'object',
};

/**
 * A remote agent, called with credentials that the page does not see. The page gets the agent's responses
 * unchanged.
 * @example const target: InspectedTarget = { url: 'https://agent.example', fetch, prepare };
 */
export interface InspectedTarget {
  readonly url: string;
  /** The name until the card is loaded. @default the URL */
  readonly name?: string;
  /** The card, if it is not at the URL. @default the card at the URL, which the page fetches */
  readonly card?: AgentCard;
  /** Further URLs of the agent: the interfaces of its card. @default none */
  readonly interfaces?: readonly string[];
  readonly fetch: typeof fetch;
  /** Adds the credentials to a request to the agent. */
  readonly prepare: RequestPreparer;
}

/**
 * The owner of a conversation of the inspected agent.
 * @example const owner: ConversationOwner = { tenant: 'acme', subject: 'ada' };
 */
export type ConversationOwner = Pick<Caller, 'tenant' | 'subject'>;

/** The parts of an assistant that the inspector shows. */
export interface InspectedAssistant {
  flows(): readonly FlowView[];
  subAgents(): readonly Omit<SubAgentView, 'id' | 'caller'>[];
  /** A conversation as tracker JSON, with all events. */
  tracker(id: string, owner: ConversationOwner): Promise<JsonObject>;
  /** Summarizes a conversation from its stored state; undefined if the state is not a conversation. */
  describe(state: JsonValue): ConversationDescription | undefined;
  /** All messages of a conversation, for searches. */
  texts(id: string, owner: ConversationOwner): Promise<readonly string[]>;
  /** Copies the first `events` events into a new conversation of the operator; returns its id. */
  fork(copy: {
    readonly id: string;
    readonly owner: ConversationOwner;
    readonly events: number;
    readonly operator: ConversationOwner;
  }): Promise<string>;
  /** Sets a slot; throws `INVALID_PARAMS` for a slot or a value that the domain does not have. */
  setSlot(change: {
    readonly id: string;
    readonly owner: ConversationOwner;
    readonly name: string;
    readonly value: JsonValue;
  }): Promise<void>;
  /** The end-to-end tests of the project. */
  tests(): Promise<readonly SavedTest[]>;
  /** Runs a test of the project, or a test given as YAML, and keeps its conversation. */
  runTest(
    test: SavedTest | { readonly yaml: string },
    run: { readonly operator: ConversationOwner; readonly signal: AbortSignal },
  ): Promise<TestRunView>;
}
