import { stringify } from 'yaml';
import {
  authenticateRequest,
  type Channel,
  type ChannelHost,
  readJson,
  readJsonObject,
  type RouteCall,
} from '../../http/index.ts';
import {
  invalidParams,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LegateError,
} from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import { eventProblem } from '../event-problem.ts';
import { appliedEvents, isTrackerEvent } from '../tracker/events.ts';
import type { ApiAccess } from './api-access.ts';
import { Conversations } from './conversations.ts';
import type { ModelHolder } from './model-holder.ts';
import { checkConversationId, failureSender, reply, requireText, toRest } from './rest.ts';

export interface ApiOptions {
  readonly access: ApiAccess;
  readonly models: ModelHolder;
  /** Replaces the current model by a packed one; `same` reloads the current one. */
  readonly replaceModel: (wanted: { readonly file: string } | 'same' | 'none') => Promise<void>;
  readonly version: string;
}

/** An authorized request to the HTTP API. */
export interface ApiCall extends RouteCall, ApiOptions {
  readonly limits: ChannelHost['service']['limits'];
  /** The conversations of the owner in the query parameter `subject`. */
  readonly conversations: Conversations;
  /** The conversation id in the path; empty without one. */
  readonly id: string;
}

export type Routes = readonly (readonly [
  method: string,
  path: string,
  handle: (call: ApiCall) => Promise<void> | void,
])[];

/** The HTTP API: manages the conversations and models of an assistant. */
export function apiChannel(options: ApiOptions): Channel {
  return channelOf('api', [...modelRoutes, ...conversationRoutes], options);
}

/** `GET /status` alone, for health checks of servers without the HTTP API. */
export function statusChannel(options: ApiOptions): Channel {
  return channelOf(
    'status',
    modelRoutes.filter(([, path]) => path === '/status'),
    options,
  );
}

function channelOf(name: string, routes: Routes, options: ApiOptions): Channel {
  return {
    name,
    sendError: failureSender(options.version),
    mount(host) {
      const all = new Conversations(host, options.models);
      for (const [method, path, handle] of routes) {
        host.route(method, path, async (call) => {
          const { request, response, query, params } = call;
          host.guard(request, response);
          const { id } = params;
          const role = await options.access.check(request, query, id, () =>
            authenticateRequest(host.service, request, response, query),
          );
          if (id !== undefined) checkConversationId(id, 'conversation id');
          // Authenticated A2A callers own their conversations; only administrators may name another
          // owner.
          const subject = query.get('subject');
          const conversations =
            subject === null || role === 'user' ? all : all.of({ tenant: '', subject });
          const { limits } = host.service;
          await handle({ ...options, ...call, limits, conversations, id: id ?? '' });
        });
      }
    },
  };
}

/** Reading and changing conversations. */
export const conversationRoutes: Routes = [
  ['GET', '/conversations/{id}/tracker', showTracker],
  [
    'DELETE',
    '/conversations/{id}/tracker',
    async ({ conversations, response, id }) => {
      await conversations.forget(id);
      response.writeHead(204).end();
    },
  ],
  [
    'POST',
    '/conversations/{id}/tracker/events',
    async (call) => {
      const body = await readJson(call.request, call.limits);
      await call.conversations.record(call.id, eventsOf(call, body));
      await showTracker(call);
    },
  ],
  [
    'POST',
    '/conversations/{id}/messages',
    async (call) => {
      const body = await readJsonObject(call.request, call.limits);
      const { sender = 'user', parse_data: parsed = {} } = body;
      const text = requireText(body['text'], 'text');
      if (sender !== 'user') {
        throw invalidParams({ field: 'sender', description: 'must be "user"' });
      }
      const understood = isJsonObject(parsed) ? parsed : {};
      const intent = { name: null, confidence: 0 };
      await call.conversations.record(call.id, [
        {
          event: 'user',
          text,
          input_channel: 'api',
          message_id: crypto.randomUUID(),
          parse_data: { text, intent, entities: [], ...understood },
        },
      ]);
      await showTracker(call);
    },
  ],
  [
    'POST',
    '/cancel_background_tasks/{id}',
    async ({ conversations, response, id }) => {
      reply(response, { cancelled_tasks: await conversations.cancelWork(id) });
    },
  ],
  [
    'POST',
    '/conversations/{id}/trigger_intent',
    async (call) => {
      const { name, entities = {} } = await readJsonObject(call.request, call.limits);
      requireIntent(call, name);
      const wanted = call.query.get('output_channel') ?? 'latest';
      const channel = wanted === 'latest' ? await latestChannel(call) : wanted;
      const text = `/${name}${JSON.stringify(entities)}`;
      const said = await call.conversations.say(call.id, text, { channel });
      reply(call.response, {
        tracker: await call.conversations.tracker(call.id),
        messages: said.flatMap((one) => toRest(call.id, one)),
      });
    },
  ],
];

/** The channel of the conversation's last message; `api` before the first one. */
async function latestChannel({ conversations, id }: ApiCall): Promise<string> {
  const { latest_input_channel: latest } = await conversations.tracker(id, { withEvents: false });
  return typeof latest === 'string' ? latest : 'api';
}

const included = ['ALL', 'APPLIED', 'AFTER_RESTART', 'NONE'];

async function showTracker({ conversations, query, id, response }: ApiCall): Promise<void> {
  const include = query.get('include_events') ?? 'AFTER_RESTART';
  if (!included.includes(include)) {
    const description = `must be one of ${included.join(', ')}, but is ${JSON.stringify(include.slice(0, 100))}`;
    throw invalidParams({ field: 'include_events', description });
  }
  const until = readTime(query.get('until'));
  const tracker = await conversations.tracker(id, {
    withEvents: include !== 'NONE',
    ...(until !== undefined && { until }),
  });
  if (include === 'ALL') return reply(response, tracker);
  const recent = afterRestart(tracker);
  reply(response, include === 'APPLIED' ? applied(recent) : recent);
}

/** Seconds since 1970. */
function readTime(text: string | null): number | undefined {
  if (text === null) return undefined;
  const time = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(time)) return time;
  throw invalidParams({ field: 'until', description: 'must be a time in seconds since 1970' });
}

function loggedEvents({ events }: JsonObject): readonly TrackerEvent[] {
  return Array.isArray(events) ? events.filter(isTrackerEvent) : [];
}

/** The events since the last restart; earlier ones stay in the log. */
function afterRestart(tracker: JsonObject): JsonObject {
  const events = loggedEvents(tracker);
  const restart = events.findLastIndex(({ event }) => event === 'restart');
  return restart < 0 ? tracker : { ...tracker, events: events.slice(restart) };
}

/** The events without the ones undone by `rewind` and `undo`. */
function applied(tracker: JsonObject): JsonObject {
  const events = loggedEvents(tracker);
  return { ...tracker, events: appliedEvents(events) };
}

/** Reads one event or a list of events. A single invalid event rejects the whole request. */
function eventsOf({ models }: ApiCall, body: JsonValue): readonly JsonObject[] {
  const events = Array.isArray(body) ? body : [body];
  const { domain } = models.require().assistant;
  const violations = events.flatMap((event: JsonValue, index) => {
    const description = eventProblem(event, domain);
    return description === undefined ? [] : [{ field: `[${index}]`, description }];
  });
  if (violations.length === 0) return events as readonly JsonObject[];
  throw invalidParams(...violations.slice(0, MAX_VIOLATIONS));
}

/** Maximum number of violations in an error. */
const MAX_VIOLATIONS = 20;

/** Built-in commands, which need no flow. */
const special = ['session_start', 'session_end', 'restart', 'silence_timeout'];

function requireIntent({ models }: ApiCall, name: unknown): asserts name is string {
  if (typeof name !== 'string' || !/^[\w-]+$/.test(name)) {
    throw invalidParams({ field: 'name', description: 'must be the name of an intent' });
  }
  const { domain, flows } = models.require().project;
  const triggers = [...flows.values()].flatMap((flow) => flow.nluTrigger);
  const isKnown =
    special.includes(name) ||
    domain.intents.includes(name) ||
    triggers.some(({ intent }) => intent === name);
  if (!isKnown) throw new LegateError('ROUTE_NOT_FOUND', `there is no intent ${name}`);
}

/** The endpoints that show and replace the current model. */
export const modelRoutes: Routes = [
  [
    'GET',
    '/version',
    ({ version, response }) => {
      reply(response, { version, minimum_compatible_version: version });
    },
  ],
  [
    'GET',
    '/status',
    ({ models, response }) => {
      const { packed, project } = models.require();
      reply(response, {
        model_file: packed ?? project.directory,
        model_id: project.modelId,
        num_active_training_jobs: 0,
      });
    },
  ],
  [
    'GET',
    '/domain',
    ({ models, request, response }) => {
      const { raw } = models.require().project.domain;
      const accepted = request.headers.accept ?? '';
      if (!/\b(?:application|text)\/(?:x-)?yaml\b/.test(accepted)) return reply(response, raw);
      response.writeHead(200, { 'content-type': 'application/yaml' }).end(stringify(raw));
    },
  ],
  [
    'GET',
    '/flows',
    ({ models, response }) => {
      const flows = [...models.require().project.flows.values()].filter((flow) => !flow.isPattern);
      reply(
        response,
        flows.map(({ id, name, description, steps }) => ({
          id,
          name,
          description,
          steps: Array.from(steps.values(), (step) => ({ ...step, position: undefined })),
        })),
      );
    },
  ],
  [
    'PUT',
    '/model',
    async ({ request, response, limits, replaceModel }) => {
      const { model_file: file } = await readJsonObject(request, limits);
      if (file !== undefined && (typeof file !== 'string' || file === '')) {
        throw invalidParams({ field: 'model_file', description: 'must be the path of a model' });
      }
      try {
        await replaceModel(file === undefined ? 'same' : { file });
      } catch (error) {
        if (!(error instanceof LegateError) || error.code !== 'CONFIGURATION_INVALID') throw error;
        // Clients that can replace the model are allowed to see its errors.
        throw invalidParams({ field: 'model_file', description: error.message });
      }
      response.writeHead(204).end();
    },
  ],
  [
    'DELETE',
    '/model',
    async ({ response, replaceModel }) => {
      await replaceModel('none');
      response.writeHead(204).end();
    },
  ],
];
