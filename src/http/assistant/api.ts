import type { IncomingMessage, ServerResponse } from 'node:http';
import { LegateError } from '../../protocol/index.ts';
import type { HttpLimits } from '../service.ts';
import type { ApiAccess } from './api-access.ts';
import { checkConversationId } from './api-body.ts';
import { conversationRoutes } from './api-conversations.ts';
import { modelRoutes } from './api-models.ts';
import type { Conversations } from './conversations.ts';
import type { ModelHolder } from './model-holder.ts';

export interface ApiOptions {
  readonly access: ApiAccess;
  readonly conversations: Conversations;
  readonly models: ModelHolder;
  readonly limits: HttpLimits;
  /** Puts a packed model in place of the present one; `same` reads the present one again. */
  readonly replaceModel: (wanted: { readonly file: string } | 'same' | 'none') => Promise<void>;
  readonly version: string;
}

export interface ApiCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The conversation that the path names. */
  readonly id: string;
}

export type Route = (api: ApiOptions, call: ApiCall) => Promise<void>;

const idPaths = /^\/(conversations|cancel_background_tasks)\/([^/]+)(\/.*)?$/;

/** By method and path; `{id}` stands for the conversation. */
const routes: ReadonlyMap<string, Route> = new Map([...modelRoutes, ...conversationRoutes]);

/** Whether a path, with whatever method, is one of the API's. */
export function isApiPath(path: string): boolean {
  const pattern = path.replace(idPaths, '/$1/{id}$3');
  return [...routes.keys()].some((key) => key.endsWith(` ${pattern}`));
}

/** Serves a request to the API; false when it is not for the API. */
export async function handleApi(
  api: ApiOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: URLSearchParams,
): Promise<boolean> {
  const match = idPaths.exec(path);
  const pattern = path.replace(idPaths, '/$1/{id}$3');
  const route = routes.get(`${request.method} ${pattern}`);
  if (route === undefined) {
    const allowed = [...routes.keys()].filter((key) => key.endsWith(` ${pattern}`));
    if (allowed.length === 0) return false;
    response.setHeader('allow', allowed.map((key) => key.split(' ')[0]).join(', '));
    throw new LegateError('METHOD_NOT_ALLOWED', `${request.method} is not possible here`);
  }
  const id = match === null ? undefined : decode(match[2] ?? '');
  const user = await api.access.check(request, query, id);
  if (id !== undefined) checkConversationId(id, 'conversation id');
  // Conversations of A2A callers who had to say who they are belong to them; only an administrator
  // may name another owner.
  const subject = query.get('subject');
  const conversations =
    subject === null || user === 'user' ? api.conversations : api.conversations.of(subject);
  await route({ ...api, conversations }, { request, response, query, id: id ?? '' });
  return true;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new LegateError('ROUTE_NOT_FOUND', 'the path is not well-formed');
  }
}
