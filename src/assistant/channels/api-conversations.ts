import { readJson, readJsonObject } from '../../http/index.ts';
import {
  invalidParams,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LegateError,
} from '../../protocol/index.ts';
import { eventProblem } from '../event-problem.ts';
import { appliedEvents } from '../tracker/applied.ts';
import type { ApiCall, Routes } from './api.ts';
import { reply, requireText } from './api-http.ts';
import { toRest } from './rest.ts';
import { isTrackerEvent } from '../tracker/events.ts';
import { type TrackerEvent } from '../conversation.ts';

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
      const channel = call.query.get('output_channel') ?? 'latest';
      const text = `/${name}${JSON.stringify(entities)}`;
      const said = await call.conversations.say(call.id, text, { channel });
      reply(call.response, {
        tracker: await call.conversations.tracker(call.id),
        messages: said.flatMap((one) => toRest(call.id, one)),
      });
    },
  ],
];

const included = ['ALL', 'APPLIED', 'AFTER_RESTART', 'NONE'];

async function showTracker({ conversations, query, id, response }: ApiCall): Promise<void> {
  const include = query.get('include_events') ?? 'AFTER_RESTART';
  if (!included.includes(include)) {
    const description = `must be one of ${included.join(', ')}`;
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

/** One event or a list of them; either all are applied or none. */
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

/** Enough to see what is wrong. */
const MAX_VIOLATIONS = 20;

/** Commands of our own, which need no flow. */
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
