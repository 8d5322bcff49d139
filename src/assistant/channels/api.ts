import type { Channel, ChannelHost, RouteCall } from '../../http/index.ts';
import type { ApiAccess } from './api-access.ts';
import { conversationRoutes } from './api-conversations.ts';
import { checkConversationId, failureSender } from './api-http.ts';
import { modelRoutes } from './api-models.ts';
import { Conversations } from './conversations.ts';
import type { ModelHolder } from './model-holder.ts';

export interface ApiOptions {
  readonly access: ApiAccess;
  readonly models: ModelHolder;
  /** Replaces the current model by a packed one; `same` reloads the current one. */
  readonly replaceModel: (wanted: { readonly file: string } | 'same' | 'none') => Promise<void>;
  readonly version: string;
}

/** An authorized request to the API. */
export interface ApiCall extends RouteCall, ApiOptions {
  readonly limits: ChannelHost['service']['limits'];
  /** The conversations of the owner that the request names. */
  readonly conversations: Conversations;
  /** The conversation that the path names; empty where it names none. */
  readonly id: string;
}

export type Routes = readonly (readonly [
  method: string,
  path: string,
  handle: (call: ApiCall) => Promise<void> | void,
])[];

/** The HTTP API: manages the conversations and models of an assistant. */
export function apiChannel(options: ApiOptions): Channel {
  return {
    name: 'api',
    sendError: failureSender(options.version),
    mount(host) {
      const all = new Conversations(host, options.models);
      for (const [method, path, handle] of [...modelRoutes, ...conversationRoutes]) {
        host.route(method, path, async (call) => {
          const { request, response, query, params } = call;
          host.guard(request, response);
          const { id } = params;
          const role = await options.access.check(request, query, id);
          if (id !== undefined) checkConversationId(id, 'conversation id');
          // Conversations of authenticated A2A callers belong to them; only an administrator may
          // name another owner.
          const subject = query.get('subject');
          const conversations = subject === null || role === 'user' ? all : all.of(subject);
          const { limits } = host.service;
          await handle({ ...options, ...call, limits, conversations, id: id ?? '' });
        });
      }
    },
  };
}
