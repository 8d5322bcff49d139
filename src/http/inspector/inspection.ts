import { z } from 'zod';
import type { Caller } from '../../agents/index.ts';
import { invalidParams, LegateError } from '../../protocol/index.ts';
import type { RequestLimits } from '../../service/index.ts';
import type { ChannelHost, RouteCall } from '../channel.ts';
import type { HttpService } from '../options.ts';
import { readJsonObject } from '../request.ts';
import type { AgentProxy } from './agent-proxy.ts';
import type { Live } from './live.ts';
import type { AttemptView } from './model.ts';
import type { InspectorOptions } from './options.ts';
import type { RecentList, WebhookReceiver } from './webhook-calls.ts';

/** The inspected agent and the state of the inspector, for the handlers of the API. */
export interface Inspection
  extends
    Pick<ChannelHost, 'service' | 'store' | 'push'>,
    Pick<InspectorOptions, 'assistant' | 'network' | 'target' | 'bindings'> {
  /** The agent's own name, under which the store keeps its tasks. */
  readonly agent: string;
  /** The latest webhook calls of this process. The store keeps only failed ones. */
  readonly attempts: RecentList<AttemptView>;
  readonly receiver: WebhookReceiver;
  readonly live: Live;
  /** Undefined if the page calls other agents itself. */
  readonly proxy: AgentProxy | undefined;
  readonly version: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Aborts when the inspector closes. Streams then end. */
  readonly closing: AbortSignal;
}

/** One request of an operator to the inspector's API. */
export interface ApiCall extends RouteCall {
  readonly operator: Caller;
  readonly limits: RequestLimits;
}

/** By method and path below `api/`. A handler returns its response, or sends it and returns undefined. */
export type Routes = readonly (readonly [
  method: string,
  path: string,
  handle: (inspection: Inspection, call: ApiCall) => unknown,
])[];

/** The engine of a task; throws if another server runs the task's agent. */
export function engineOf({ agent, service }: Inspection, owner: string): HttpService['engine'] {
  if (owner.startsWith(`[${JSON.stringify(agent)},`)) return service.engine;
  throw new LegateError('UNSUPPORTED_OPERATION', 'the agent of this task is served elsewhere');
}

/** Records an operator's action in the audit log. */
export function audited(
  { service }: Inspection,
  { operator: { tenant, subject } }: ApiCall,
  event: string,
  fields: object,
): void {
  service.audit.action(event, { ...fields, tenant, subject });
}

/** Reads the body as a JSON object and decodes it by a schema. */
export async function bodyOf<T>(
  { request, limits }: Pick<ApiCall, 'request' | 'limits'>,
  schema: z.ZodType<T>,
): Promise<T> {
  return decoded(await readJsonObject(request, limits), schema);
}

/** Decodes the query parameters by a schema; empty parameters count as absent. */
export function queryOf<T>({ query }: Pick<ApiCall, 'query'>, schema: z.ZodType<T>): T {
  return decoded(Object.fromEntries([...query].filter(([, value]) => value !== '')), schema);
}

function decoded<T>(value: unknown, schema: z.ZodType<T>): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw invalidParams(
    ...read.error.issues.map(({ path, message }) => ({
      field: path.join('.'),
      description: message,
    })),
  );
}

/** A schema for an integer query parameter within bounds. */
export function between(min: number, max: number): z.ZodType<number> {
  return z.coerce.number().int().min(min).max(max);
}

export function notFound(what: string): LegateError {
  return new LegateError('ROUTE_NOT_FOUND', `there is no ${what}`);
}
