import type { JsonValue } from '../../protocol/index.ts';
import type { Command, Domain, Flow, Slot } from '../model.ts';

/** What a message is that begins with a slash. */
export type SpecialMessage =
  /** Commands, which no generator needs to see. */
  | { readonly kind: 'commands'; readonly commands: readonly Command[]; readonly intent?: Intent }
  /** Nothing special after all: text, without the slash. */
  | { readonly kind: 'text'; readonly text: string };

/** What a message names instead of words. */
export interface Intent {
  readonly name: string;
  readonly entities: readonly { readonly entity: string; readonly value: JsonValue }[];
}

interface Known {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
}

const MAX_PAIRS = 10;

const sessionCommands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['session_start', { command: 'session start' }],
  ['session_end', { command: 'session end' }],
  ['restart', { command: 'restart' }],
  ['silence_timeout', { command: 'user silence' }],
]);

/**
 * Reads `/SetSlots(a=1, b=x)`, `/intent{"entity": "value"}` and the messages about the session.
 * Undefined for what does not begin with a slash.
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
  return {
    kind: 'commands',
    intent: { name, entities: [...entities].map(([entity, value]) => ({ entity, value })) },
    commands: [
      ...triggered.map((flow): Command => ({ command: 'start flow', flow: flow.id })),
      ...filledBy(known.domain, name, entities),
    ],
  };
}

function readEntities(json: string): ReadonlyMap<string, JsonValue> | undefined {
  try {
    return new Map(Object.entries(JSON.parse(json) as Record<string, JsonValue>));
  } catch {
    return undefined;
  }
}

/** The slots that an intent and its entities fill by their mappings. */
function filledBy(
  domain: Domain,
  intent: string,
  entities: ReadonlyMap<string, JsonValue>,
): readonly Command[] {
  return [...domain.slots.values()].flatMap((slot): Command[] => {
    const value = mappedValue(slot, intent, entities);
    return value === undefined ? [] : [{ command: 'set slot', name: slot.name, value, by: 'nlu' }];
  });
}

function mappedValue(
  slot: Slot,
  intent: string,
  entities: ReadonlyMap<string, JsonValue>,
): JsonValue | undefined {
  for (const mapping of slot.mappings) {
    if (mapping.type === 'from_entity') {
      const { entity } = mapping.options;
      const value = typeof entity === 'string' ? entities.get(entity) : undefined;
      if (value !== undefined) return value;
    } else if (mapping.type === 'from_intent' || mapping.type === 'from_trigger_intent') {
      const wanted = mapping.options['intent'];
      const isWanted = Array.isArray(wanted) ? wanted.includes(intent) : wanted === intent;
      if (isWanted) return mapping.options['value'] ?? null;
    }
  }
  return undefined;
}
