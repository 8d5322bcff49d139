import type { ServerResponse } from 'node:http';
import type { Caller } from '../../agents/index.ts';
import { invalidParams, type JsonObject, LegateError } from '../../protocol/index.ts';
import type { RequestLimits } from '../../service/index.ts';
import type { RouteCall } from '../channel.ts';
import { readJsonObject } from '../request.ts';
import { sendJson } from '../respond.ts';

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
