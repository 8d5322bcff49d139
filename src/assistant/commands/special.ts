import type { JsonValue } from '../../protocol/index.ts';
import type { Command } from '../command.ts';
import type { Domain, Flow } from '../model.ts';
import { type Entity, readEntities, slotsFrom } from './mappings.ts';

/** What a message is that begins with a slash. */
export type SpecialMessage =
  /** Commands, which no generator needs to see. */
  | { readonly kind: 'commands'; readonly commands: readonly Command[]; readonly intent?: Intent }
  /** Nothing special after all: text, without the slash. */
  | { readonly kind: 'text'; readonly text: string };

/** What a message names instead of words. */
export interface Intent {
  readonly name: string;
  readonly entities: readonly Entity[];
}

interface Known {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  /** Ids of the flows that are under way. @default none */
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
