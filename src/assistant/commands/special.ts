import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { Command } from '../conversation.ts';
import type { Domain, Flow, Slot } from '../model.ts';

/** A message that starts with a slash. */
export type SpecialMessage =
  /** Commands that need no generator. */
  | { readonly kind: 'commands'; readonly commands: readonly Command[]; readonly intent?: Intent }
  /** Ordinary text, without the slash. */
  | { readonly kind: 'text'; readonly text: string };

/** An intent that a message names, with its entities. */
export interface Intent {
  readonly name: string;
  readonly entities: readonly Entity[];
}

interface Known {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  /** Ids of the flows of the active segment. @default none */
  readonly active?: ReadonlySet<string>;
}

const MAX_PAIRS = 10;

const sessionCommands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['session_start', { command: 'session start' }],
  ['session_end', { command: 'session end' }],
  ['restart', { command: 'restart' }],
  ['silence_timeout', { command: 'user silence' }],
]);

/**
 * Reads `/SetSlots(a=1, b=x)`, `/intent{"entity": "value"}` and session messages such as `/restart`.
 * Undefined for messages that don't start with a slash.
 */
export function readSpecial(text: string, known: Known): SpecialMessage | undefined {
  const message = text.trim();
  if (!message.startsWith('/')) return undefined;
  const commands = readSetSlots(message, known);
  if (commands !== undefined) return { kind: 'commands', commands };
  return readIntent(message, known) ?? { kind: 'text', text: message.slice(1) };
}

function readSetSlots(message: string, { domain }: Known): readonly Command[] | undefined {
  const pairs = /^\/SetSlots\(([^()]*)\)$/.exec(message)?.[1]?.split(',');
  if (pairs === undefined || pairs.length > MAX_PAIRS) return undefined;
  const commands: Command[] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    if (at === -1 || name === '') return undefined;
    if (domain.slots.get(name)?.type === 'list') continue;
    const value = readValue(pair.slice(at + 1).trim());
    commands.push({ command: 'set slot', name, value, by: 'payload' });
  }
  return commands;
}

function readValue(text: string): JsonValue {
  return /^(none|null|undefined)$/i.test(text) ? null : text;
}

function readIntent(message: string, known: Known): SpecialMessage | undefined {
  const [, name = '', json = '{}'] = /^\/([\w-]+)(?:@[\d.]+)?\s*(\{.*\})?$/s.exec(message) ?? [];
  const session = sessionCommands.get(name);
  if (session !== undefined) return { kind: 'commands', commands: [session] };
  const triggered = [...known.flows.values()].filter((flow) =>
    flow.nluTrigger.some((trigger) => trigger.intent === name),
  );
  if (triggered.length === 0 && !known.domain.intents.includes(name)) return undefined;
  const entities = readEntities(json);
  if (entities === undefined) return undefined;
  const active = new Set([...(known.active ?? []), ...triggered.map((flow) => flow.id)]);
  return {
    kind: 'commands',
    intent: { name, entities },
    commands: [
      ...triggered.map((flow): Command => ({ command: 'start flow', flow: flow.id })),
      ...slotsFrom(known.domain, { intent: name, entities, active }),
    ],
  };
}

/** An entity, with its role and group. */
interface Entity {
  readonly entity: string;
  readonly value: JsonValue;
  readonly role?: string;
  readonly group?: string;
}

/** The input of slot mappings. */
interface Evidence {
  /** Undefined for typed messages: there is no intent classifier. */
  readonly intent: string | undefined;
  readonly entities: readonly Entity[];
  /** Flows that are active or start with this message. */
  readonly active: ReadonlySet<string>;
}

/** The slots that an intent and its entities fill by slot mappings. */
function slotsFrom(domain: Domain, evidence: Evidence): readonly Command[] {
  return [...domain.slots.values()].flatMap((slot): Command[] => {
    const value = mappedValue(slot, evidence);
    return value === undefined ? [] : [{ command: 'set slot', name: slot.name, value, by: 'nlu' }];
  });
}

function mappedValue(slot: Slot, evidence: Evidence): JsonValue | undefined {
  for (const mapping of slot.mappings) {
    if (mapping.type === 'from_entity') {
      if (!applies(mapping.options, evidence)) continue;
      const found = evidence.entities.find((one) => isMeant(mapping.options, one));
      if (found !== undefined) return found.value;
    } else if (mapping.type === 'from_intent' || mapping.type === 'from_trigger_intent') {
      if (applies(mapping.options, evidence)) return mapping.options['value'] ?? null;
    }
  }
  return undefined;
}

/** Whether the whole typed text is the value of the slot. */
export function isFilledByText(slot: Slot, active: ReadonlySet<string>): boolean {
  const typed: Evidence = { intent: undefined, entities: [], active };
  return slot.mappings.some(
    (mapping) => mapping.type === 'from_text' && applies(mapping.options, typed),
  );
}

/** Checks `intent`, `not_intent` and `conditions` of a mapping. One of several conditions must hold. */
function applies(options: JsonObject, { intent, active }: Evidence): boolean {
  const { intent: wanted, not_intent: unwanted, conditions } = options;
  if (wanted !== undefined && !isOneOf(wanted, intent)) return false;
  if (unwanted !== undefined && isOneOf(unwanted, intent)) return false;
  if (!Array.isArray(conditions) || conditions.length === 0) return true;
  return conditions.some((condition) => {
    const flow = isJsonObject(condition) ? condition['active_flow'] : undefined;
    return typeof flow === 'string' && active.has(flow);
  });
}

function isOneOf(names: JsonValue, name: string | undefined): boolean {
  if (name === undefined) return false;
  return Array.isArray(names) ? names.includes(name) : names === name;
}

/** Whether an entity matches a mapping, including the role and group that the mapping requires. */
function isMeant(options: JsonObject, { entity, role, group }: Entity): boolean {
  if (options['entity'] !== entity) return false;
  if (options['role'] !== undefined && options['role'] !== role) return false;
  return options['group'] === undefined || options['group'] === group;
}

/**
 * Reads `{"city": "Rome"}`; roles and groups as `{"city": {"value": "Rome", "role": "to"}}`, or a
 * list of these. Undefined unless the text is a JSON object.
 */
function readEntities(json: string): readonly Entity[] | undefined {
  try {
    const value: unknown = JSON.parse(json);
    if (!isJsonObject(value)) return undefined;
    return Object.entries(value).flatMap(([entity, given]) => entitiesOf(entity, given));
  } catch {
    return undefined;
  }
}

function entitiesOf(entity: string, given: JsonValue): readonly Entity[] {
  const several = Array.isArray(given) ? given : [given];
  if (several.length === 0 || !several.every(isMarked)) return [{ entity, value: given }];
  return several.map(({ value, role, group }) => ({
    entity,
    value: value ?? null,
    ...(typeof role === 'string' && { role }),
    ...(typeof group === 'string' && { group }),
  }));
}

/** Whether an object has the form `{value, role?, group?}` with a role or a group. */
function isMarked(given: JsonValue): given is JsonObject {
  if (!isJsonObject(given) || !Object.hasOwn(given, 'value')) return false;
  const marks = Object.keys(given).filter((key) => key !== 'value');
  return marks.length > 0 && marks.every((key) => key === 'role' || key === 'group');
}
