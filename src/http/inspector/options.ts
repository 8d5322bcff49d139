import type { Caller } from '../../agents/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import type { Store } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Conversations, ModelHolder } from '../assistant/index.ts';
import type { PushService } from '../push-service.ts';
import type { Service } from '../service.ts';
import type { InspectorAccess } from './access.ts';
import type { NetworkProvider } from './network.ts';

/**
 * What the inspector shows, and to whom.
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
   * Which of the callers that the server knows may look at everybody's tasks.
   * @default those with the scope `inspect`
   */
  readonly isOperator?: (caller: Caller) => boolean;
  /**
   * Lets the page call other agents through the server: those that the operator names on it. `true`
   * lets it call them anywhere where only this machine can reach the server, and at public https
   * addresses where others can. @default false
   */
  readonly proxy?: boolean | { readonly policy: UrlPolicy };
  /**
   * The token that the page asks for; `link` has it. @default a random one for each start
   */
  readonly token?: string;
  /** Other agents, their trust, and calls between them. @default none */
  readonly network?: NetworkProvider;
  /** Calls that the webhook receiver keeps. @default 200 */
  readonly receiverLimit?: number;
  /** Shown to the operator. @default '' */
  readonly version?: string;
  /** @default the system's */
  readonly scheduler?: Scheduler;
}

/** An agent that is looked at. */
export interface InspectedAgent {
  /** The agent's own name, under which the store keeps its tasks. */
  readonly name: string;
  readonly service: Service;
  /** Where the agent is an assistant: its flows and conversations. */
  readonly assistant?: {
    readonly models: ModelHolder;
    readonly conversations: Conversations;
  };
}

/**
 * What is looked at: agents of one process, and where their tasks are kept.
 * @example
 * const inspected: Inspected = {
 *   agents: [{ name: agent.name, service: server.router.service }],
 *   store: server.router.store,
 *   push: server.router.push, // tells of each attempt at a webhook
 * };
 */
export interface Inspected {
  readonly agents: readonly InspectedAgent[];
  readonly store: Store;
  readonly push?: PushService | undefined;
  /** A further way to prove that one may look, besides the agents' own: an API token. */
  readonly access?: InspectorAccess;
}
