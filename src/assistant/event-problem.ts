import { z } from 'zod';
import { suggest } from '../config/index.ts';
import type { JsonValue } from '../protocol/index.ts';
import { coerceSlotValue } from './domain/slot.ts';
import { MAX_SLOT_CHARACTERS } from './executor/apply-events.ts';
import { defaultActionNames } from './executor/run-action.ts';
import { canFollowUp } from './executor/run.ts';
import type { Domain } from './model.ts';

const name = z.string().min(1).max(512);
const text = z.string().nullish();
const data = z.looseObject({}).nullish();
/** Seconds since 1970, up to the maximum of `Date`. */
const timestamp = z.number().min(0).max(8.64e12).nullish();

const event = (fields: z.ZodRawShape = {}) =>
  z.looseObject({ timestamp, metadata: data, ...fields });
const ofFlow = event({ flow_id: name, step_id: text });
const ofAgent = event({ flow_id: name, agent_id: name, context_id: text, status: text });

/** The event types of the tracker format, with their required fields. */
const schemas: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['user', event({ text, parse_data: data, input_channel: text, message_id: text })],
  ['bot', event({ text, data })],
  ['agent', event({ text, data })],
  ['action', event({ name })],
  ['action_execution_rejected', event({ name })],
  [
    'slot',
    event({ name, value: z.unknown().refine((value) => value !== undefined, 'is missing') }),
  ],
  ['followup', event({ name })],
  ['stack', event({ update: z.string() })],
  ['flow_started', event({ flow_id: name })],
  ['flow_completed', ofFlow],
  ['flow_cancelled', ofFlow],
  ['flow_interrupted', ofFlow],
  ['flow_resumed', ofFlow],
  ['agent_started', ofAgent],
  ['agent_completed', ofAgent],
  ['agent_interrupted', ofAgent],
  ['agent_resumed', ofAgent],
  ['agent_cancelled', ofAgent],
  ['active_loop', event({ name: text })],
  ['form', event({ name: text })],
  ['loop_interrupted', event({ is_loop_interrupted: z.boolean() })],
  ['form_validation', event({ validate: z.boolean().nullish() })],
  ['entities', event({ entities: z.array(z.looseObject({})) })],
  ['reminder', event({ intent: name, date_time: z.string().min(1), name: text })],
  ['cancel_reminder', event({ name: text, intent: text })],
  ['export', event({ path: text })],
  ['session_paused', event({ reason: text })],
  ...[
    'reset_slots',
    'session_started',
    'session_ended',
    'conversation_inactive',
    'restart',
    'rewind',
    'undo',
    'pause',
    'resume',
    'routing_session_ended',
    'user_featurization',
  ].map((type): [string, z.ZodType] => [type, event()]),
]);

/**
 * Returns why an external event can't be applied to a conversation; undefined if it can. Rejects events that
 * would fail later, such as an unknown slot or an unknown follow-up action.
 * @example eventProblem({ event: 'followup', name: 'action_x' }, domain) // 'name: no action named "action_x"'
 */
export function eventProblem(value: JsonValue, domain: Domain): string | undefined {
  if (typeof value !== 'object' || value === null || !('event' in value)) {
    return 'must be an object with the field event';
  }
  const { event: type, name: named, value: given = null } = value;
  if (typeof type !== 'string') return 'event: must be a text';
  const schema = schemas.get(type);
  if (schema === undefined) return unknown('event type', type, schemas.keys());
  const issue = schema.safeParse(value).error?.issues[0];
  if (issue !== undefined) return `${issue.path.join('.')}: ${issue.message}`;
  if (typeof named !== 'string') return undefined;
  if (type === 'slot') return slotProblem(named, given, domain);
  if (type === 'followup') return actionProblem(named, domain);
  return undefined;
}

function slotProblem(slotName: string, value: JsonValue, { slots }: Domain): string | undefined {
  const slot = slots.get(slotName);
  if (slot === undefined) return `name: ${unknown('slot', slotName, slots.keys())}`;
  if (!coerceSlotValue(slot, value).ok) {
    return `value: slot ${slotName} of type ${slot.type} can't hold it`;
  }
  if (JSON.stringify(value).length > MAX_SLOT_CHARACTERS) {
    return `value: is larger than ${MAX_SLOT_CHARACTERS} characters`;
  }
  return undefined;
}

function actionProblem(action: string, domain: Domain): string | undefined {
  if (canFollowUp(action, domain)) return undefined;
  const { actions, responses } = domain;
  const known = [...actions.keys(), ...responses.keys(), ...defaultActionNames];
  return `name: ${unknown('action', action, known)}`;
}

function unknown(kind: string, given: string, known: Iterable<string>): string {
  const shown = JSON.stringify(given.slice(0, 100));
  const near = suggest(given, known);
  return `no ${kind} named ${shown}${near === undefined ? '' : `; ${near}`}`;
}
