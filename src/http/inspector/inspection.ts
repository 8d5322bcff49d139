import { LegateError } from '../../protocol/index.ts';
import type { PushService } from '../../service/index.ts';
import type { Store } from '../../store/index.ts';
import { storeScheduler } from '../../tasks/index.ts';
import type { ChannelHost } from '../channel.ts';
import type { HttpService } from '../options.ts';
import { AgentProxy } from './agent-proxy.ts';
import type { ApiCall } from './api-call.ts';
import { AttemptLog } from './attempt-log.ts';
import { Live } from './live.ts';
import type { NetworkProvider } from './network.ts';
import type { InspectedAssistant, InspectorOptions } from './options.ts';
import { WebhookReceiver } from './receiver.ts';

/** Everything that the API looks at. */
export interface Inspection {
  /** The agent's own name, under which the store keeps its tasks. */
  readonly agent: string;
  readonly service: HttpService;
  /** Where the agent is an assistant. */
  readonly assistant: InspectedAssistant | undefined;
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

/** By method and path below `api/`. */
export type Routes = readonly (readonly [
  method: string,
  path: string,
  handle: (inspection: Inspection, call: ApiCall) => Promise<void>,
])[];

/** Looks at an agent until `closing` aborts. */
export function inspect(
  options: InspectorOptions,
  { agent, service, store, push }: ChannelHost,
  closing: AbortSignal,
): Inspection {
  const { scheduler = storeScheduler(store), proxy = false, version = '', network } = options;
  const now = (): number => scheduler.now();
  const live = new Live({ store, scheduler });
  const attempts = new AttemptLog();
  const leave = push?.watch((attempt) => {
    attempts.add(attempt);
    live.notePush();
  });
  const receiver = new WebhookReceiver({
    now,
    keys: () => service.jwks?.(),
    onCall: () => live.tell({ receiver: true }),
    ...(options.receiverLimit !== undefined && { limit: options.receiverLimit }),
  });
  const policy = typeof proxy === 'object' ? proxy.policy : undefined;
  const calls = proxy === false ? undefined : new AgentProxy({ reach: service.reach, policy });
  closing.addEventListener(
    'abort',
    () => {
      leave?.();
      calls?.close();
    },
    { once: true },
  );
  return {
    agent: agent.name,
    service,
    assistant: options.assistant,
    store,
    push,
    attempts,
    receiver,
    live,
    network,
    proxy: calls,
    version,
    now,
    closing,
  };
}

/** The engine of a task; throws where another server has its agent. */
export function engineOf({ agent, service }: Inspection, owner: string): HttpService['engine'] {
  if (owner.startsWith(`[${JSON.stringify(agent)},`)) return service.engine;
  throw new LegateError('UNSUPPORTED_OPERATION', 'the agent of this task is served elsewhere');
}

/** Notes in the audit log what an operator did. */
export function audited(
  { service }: Inspection,
  { operator: { tenant, subject } }: ApiCall,
  event: string,
  fields: object,
): void {
  service.audit.action(event, { ...fields, tenant, subject });
}
