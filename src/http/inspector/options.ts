import type { Caller } from '../../agents/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { InspectorAccess } from './access.ts';
import type { FlowView, NetworkProvider, SubAgentView } from './model.ts';

/**
 * The content of the inspector, and who may see it.
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
   * Which authenticated callers are operators, and may see the tasks of all callers.
   * @default callers with the scope `inspect`
   */
  readonly isOperator?: (caller: Caller) => boolean;
  /**
   * Lets the page call other agents through the server: those that the operator connects to. `true`
   * allows any address on a server that only this machine can reach, and public https addresses on
   * others. @default false
   */
  readonly proxy?: boolean | { readonly policy: UrlPolicy };
  /**
   * The token of the page's link. @default a random one for each start
   */
  readonly token?: string;
  /** Other agents, their trust, and calls between them. @default none */
  readonly network?: NetworkProvider;
  /** Calls that the webhook receiver keeps. @default 200 */
  readonly receiverLimit?: number;
  /** A further way to authenticate operators, besides the token and the callers. @default none */
  readonly access?: InspectorAccess;
  /** Flows and conversations to show. @default none */
  readonly assistant?: InspectedAssistant;
  /** Shown to the operator. @default '' */
  readonly version?: string;
  /** @default the system's */
  readonly scheduler?: Scheduler;
}

/** The parts of an assistant that the inspector shows. */
export interface InspectedAssistant {
  flows(): readonly FlowView[];
  subAgents(): readonly Omit<SubAgentView, 'id' | 'caller'>[];
  /** A conversation as tracker JSON, with all events; `subject`: whose it is. */
  tracker(id: string, subject: string): Promise<JsonObject>;
}
