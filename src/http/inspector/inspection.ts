import type { Caller } from '../../agents/index.ts';
import { invalidParams, type JsonObject, LegateError } from '../../protocol/index.ts';
import type { PushService, RequestLimits } from '../../service/index.ts';
import type { Store } from '../../store/index.ts';
import { storeScheduler } from '../../tasks/index.ts';
import type { ChannelHost, RouteCall } from '../channel.ts';
import type { HttpService } from '../options.ts';
import { readJsonObject } from '../request.ts';
import { sendJson } from '../respond.ts';
import { AgentProxy } from './agent-proxy.ts';
import { Live } from './live.ts';
import type { NetworkProvider } from './network.ts';
import type { InspectedAssistant, InspectorOptions } from './options.ts';
import { AttemptLog, WebhookReceiver } from './webhook-calls.ts';
import type { ServerResponse } from 'node:http';

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
  const calls =
    proxy === false ? undefined : new AgentProxy({ exposure: service.exposure, policy });
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

/** One request to the inspector's API, by somebody who may make it. */
export interface ApiCall extends RouteCall {
  readonly operator: Caller;
  readonly limits: RequestLimits;
}

export function reply(response: ServerResponse, value: unknown): void {
  sendJson(response, 200, JSON.stringify(value));
}

export function bodyOf({ request, limits }: ApiCall): Promise<JsonObject> {
  return readJsonObject(request, limits);
}

/** A number in the query within bounds; `fallback` where there is none. */
export function numberOf(
  query: URLSearchParams,
  name: string,
  { fallback, min, max }: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  const given = query.get(name);
  if (given === null) return fallback;
  const value = Number(given);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalidParams({ field: name, description: `must be a whole number, ${min} to ${max}` });
}

/** The word in the query, which must be one of these; undefined where there is none. */
export function choiceOf<T extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly T[],
): T | undefined {
  const given = query.get(name);
  if (given === null || given === '') return undefined;
  const choice = choices.find((one) => one === given);
  if (choice !== undefined) return choice;
  throw invalidParams({ field: name, description: `must be one of ${choices.join(', ')}` });
}

export function nothing(what: string): LegateError {
  return new LegateError('ROUTE_NOT_FOUND', `there is no ${what}`);
}
