import type { Store } from '../../store/index.ts';
import type { PushService } from '../push-service.ts';
import type { AgentProxy } from './agent-proxy.ts';
import type { ApiCall } from './api-call.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Live } from './live.ts';
import type { NetworkProvider } from './network.ts';
import type { InspectedAgent } from './options.ts';
import type { WebhookReceiver } from './receiver.ts';

/** Everything that the API looks at. */
export interface Inspection {
  readonly agents: readonly InspectedAgent[];
  /** The agent whose caller an owner is. */
  agentOf(owner: string): InspectedAgent;
  readonly store: Store;
  readonly push: PushService | undefined;
  readonly attempts: AttemptLog;
  readonly receiver: WebhookReceiver;
  readonly live: Live;
  readonly network: NetworkProvider | undefined;
  /** Undefined where the page calls other agents itself. */
  readonly proxy: AgentProxy | undefined;
  readonly version: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Aborts when the inspector closes: streams then end. */
  readonly closing: AbortSignal;
}

export type Route = (inspection: Inspection, call: ApiCall) => Promise<void>;
