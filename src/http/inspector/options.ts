import type { Caller } from '../../agents/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { InspectorAccess } from './access.ts';
import type { FlowView } from './model.ts';
import type { NetworkProvider, SubAgentView } from './network.ts';

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
  /** A further way to prove that one may look, besides the token and the callers. @default none */
  readonly access?: InspectorAccess;
  /** Flows and conversations to show. @default none */
  readonly assistant?: InspectedAssistant;
  /** Shown to the operator. @default '' */
  readonly version?: string;
  /** @default the system's */
  readonly scheduler?: Scheduler;
}

/** An assistant as the inspector shows it. */
export interface InspectedAssistant {
  flows(): readonly FlowView[];
  subAgents(): readonly Omit<SubAgentView, 'id' | 'caller'>[];
  /** A conversation as tracker JSON, with all events; `subject`: whose it is. */
  tracker(id: string, subject: string): Promise<JsonObject>;
}
