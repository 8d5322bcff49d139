import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalidParams, type JsonObject, LegateError, parseJson } from '../../protocol/index.ts';
import { readBody } from '../body.ts';
import { sendJson } from '../respond.ts';
import type { HttpLimits } from '../service.ts';
import type { ApiAccess } from './api-access.ts';
import type { Conversations } from './conversations.ts';
import type { ModelHolder } from './model-holder.ts';
import { toRest } from './rest-channel.ts';

export interface ApiOptions {
  readonly access: ApiAccess;
  readonly conversations: Conversations;
  readonly models: ModelHolder;
  readonly limits: HttpLimits;
  /** Loads a model and puts it in place of the present one; undefined unloads. */
  readonly replaceModel: (file: string | undefined) => Promise<void>;
  readonly version: string;
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The conversation that the path names. */
  readonly id: string;
}

type Route = (api: ApiOptions, call: Call) => Promise<void>;

/** By method and path; `{id}` stands for the conversation. */
const routes: Readonly<Record<string, Route>> = {
  'GET /version': async ({ version }, { response }) => {
    reply(response, { version, minimum_compatible_version: version });
  },
  'GET /status': async ({ models }, { response }) => {
    const { file, project } = models.require();
    reply(response, { model_file: file, model_id: project.modelId, num_active_training_jobs: 0 });
  },
  'GET /domain': async ({ models }, { response }) => {
    reply(response, models.require().project.domain.raw);
  },
  'GET /flows': async ({ models }, { response }) => {
    const flows = [...models.require().project.flows.values()];
    const shown = flows.filter((flow) => !flow.isPattern);
    reply(
      response,
      shown.map(({ id, name, description, steps }) => ({
        id,
        name,
        description,
        steps: [...steps.values()],
      })),
    );
  },
  'GET /conversations/{id}/tracker': async ({ conversations }, { response, query, id }) => {
    const include = query.get('include_events') ?? 'AFTER_RESTART';
    if (!['ALL', 'APPLIED', 'AFTER_RESTART', 'NONE'].includes(include)) {
      throw invalidParams({
        field: 'include_events',
        description: 'must be ALL, APPLIED, AFTER_RESTART or NONE',
      });
    }
    const tracker = await conversations.tracker(id, include === 'NONE' ? 0 : undefined);
    reply(response, include === 'ALL' ? tracker : afterRestart(tracker));
  },
  'DELETE /conversations/{id}/tracker': async ({ conversations }, { response, id }) => {
    await conversations.forget(id);
    response.writeHead(204).end();
  },
  'POST /conversations/{id}/tracker/events': async (api, call) => {
    const body = await bodyOf(api, call.request);
    const events = Array.isArray(body) ? (body as unknown[]) : [body];
    if (!events.every(isEvent)) {
      throw invalidParams({
        field: 'events',
        description: 'each must be an object with an "event"',
      });
    }
    await api.conversations.record(call.id, events);
    reply(call.response, await api.conversations.tracker(call.id));
  },
  'POST /conversations/{id}/messages': async (api, call) => {
    const { text, sender = 'user' } = (await bodyOf(api, call.request)) as JsonObject;
    if (typeof text !== 'string')
      throw invalidParams({ field: 'text', description: 'must be a text' });
    if (sender !== 'user') {
      throw invalidParams({
        field: 'sender',
        description: 'only messages of the user can be added',
      });
    }
    await api.conversations.record(call.id, [
      {
        event: 'user',
        text,
        input_channel: 'api',
        message_id: crypto.randomUUID(),
        parse_data: {},
      },
    ]);
    reply(call.response, await api.conversations.tracker(call.id));
  },
  'POST /conversations/{id}/trigger_intent': async (api, call) => {
    const { name, entities = {} } = (await bodyOf(api, call.request)) as JsonObject;
    if (typeof name !== 'string' || !/^[\w-]+$/.test(name)) {
      throw invalidParams({ field: 'name', description: 'must be the name of an intent' });
    }
    const channel = call.query.get('output_channel') ?? 'latest';
    const said = await api.conversations.say(call.id, `/${name}${JSON.stringify(entities)}`, {
      channel,
    });
    reply(call.response, {
      tracker: await api.conversations.tracker(call.id),
      messages: said.flatMap((one) => toRest(call.id, one)),
    });
  },
  'PUT /model': async (api, call) => {
    const { model_file: file } = (await bodyOf(api, call.request)) as JsonObject;
    if (typeof file !== 'string') {
      throw invalidParams({
        field: 'model_file',
        description: 'must be the path of a packed model',
      });
    }
    await api.replaceModel(file);
    call.response.writeHead(204).end();
  },
  'DELETE /model': async (api, call) => {
    await api.replaceModel(undefined);
    call.response.writeHead(204).end();
  },
};

/** Serves a request to the API; false when it is not for the API. */
export async function handleApi(
  api: ApiOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: URLSearchParams,
): Promise<boolean> {
  const match = /^\/conversations\/([^/]+)(\/.*)$/.exec(path);
  const pattern = match === null ? path : `/conversations/{id}${match[2]}`;
  const route = routes[`${request.method} ${pattern}`];
  if (route === undefined) {
    const allowed = Object.keys(routes).filter((key) => key.endsWith(` ${pattern}`));
    if (allowed.length === 0) return false;
    response.setHeader('allow', allowed.map((key) => key.split(' ')[0]).join(', '));
    throw new LegateError('METHOD_NOT_ALLOWED', `${request.method} is not possible here`);
  }
  const id = decodeURIComponent(match?.[1] ?? '');
  await api.access.check(request, query, match === null ? undefined : id);
  await route(api, { request, response, query, id });
  return true;
}

async function bodyOf(api: ApiOptions, request: IncomingMessage): Promise<unknown> {
  const body = parseJson(await readBody(request, api.limits), {
    maxDepth: api.limits.maxJsonDepth,
  });
  if (typeof body !== 'object' || body === null) {
    throw invalidParams({ field: 'body', description: 'must be JSON: an object, or a list' });
  }
  return body;
}

function reply(response: ServerResponse, value: unknown): void {
  sendJson(response, 200, JSON.stringify(value));
}

function isEvent(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    'event' in value &&
    typeof value.event === 'string'
  );
}

/** What came before the last restart is forgotten, but kept in the log. */
function afterRestart(tracker: JsonObject): JsonObject {
  const events = tracker['events'] as readonly JsonObject[];
  const restart = events.findLastIndex(({ event }) => event === 'restart');
  return restart < 0 ? tracker : { ...tracker, events: events.slice(restart) };
}
