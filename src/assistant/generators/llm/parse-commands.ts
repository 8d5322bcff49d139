import { isJsonObject, type JsonValue, parseJson, textOfValue } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import { coerceSlotValue } from '../../domain/slot.ts';
import type { Domain, Flow, Slot } from '../../model.ts';
import { findNumbers } from '../matching/values/numbers.ts';
import { readMessage } from '../words/words.ts';

/** The flows and slots that commands can name. */
export interface Vocabulary {
  readonly flows: ReadonlyMap<string, Flow>;
  readonly domain: Domain;
}

/** Maximum characters of an answer that are parsed, for models that ramble. */
const mostCharacters = 20_000;
const mostCommands = 50;

/** The arguments of a command as written. */
interface Arguments {
  /** Everything after the command's name. */
  readonly rest: string;
  /** The names in `rest`. */
  readonly names: readonly string[];
}

/** The assistant doesn't support what the user asks for. */
const notSupported: Command = { command: 'cannot handle', reason: 'cannot_handle_not_supported' };

type Reader = (given: Arguments, vocabulary: Vocabulary) => Command | undefined;

/**
 * The commands by their names, older spellings included. The words of a name can be separate, joined, in
 * capitals or with underscores.
 */
const readers: readonly (readonly [RegExp, Reader])[] = [
  [word('start', 'flow'), ({ names }, vocabulary) => startFlow(names[0], vocabulary)],
  [word('set', 'slots?'), ({ rest }, vocabulary) => setSlot(rest, vocabulary)],
  [word('cancel', 'flow'), () => ({ command: 'cancel flow' })],
  [
    /^(?:disambiguate[\s_]*flows?|clarify)\b/i,
    ({ names }, vocabulary) => clarify(names, vocabulary),
  ],
  [
    /^(?:provide[\s_]*info|search[\s_]*and[\s_]*reply|knowledge[\s_]*answer)\b/i,
    () => ({ command: 'knowledge answer' }),
  ],
  [/^(?:off[\s_-]*topic[\s_]*reply|chit[\s_-]*chat)\b/i, () => ({ command: 'chitchat' })],
  [/^repeat[\s_]*(?:last[\s_]*bot[\s_]*)?messages?\b/i, () => ({ command: 'repeat bot messages' })],
  [/^skip[\s_]*question\b/i, () => ({ command: 'skip question' })],
  [/^(?:hand[\s_]*over|human[\s_]*hand[\s_]*off)\b/i, () => ({ command: 'human handoff' })],
  [word('cannot', 'handle'), () => notSupported],
  [word('continue', 'agent'), () => ({ command: 'continue agent' })],
  [
    word('restart', 'agent'),
    ({ names }) => {
      const agent = names[0];
      return agent === undefined ? undefined : { command: 'restart agent', agent };
    },
  ],
];

function word(...parts: readonly string[]): RegExp {
  return new RegExp(`^${parts.join('[\\s_]*')}(?![A-Za-z0-9])`, 'i');
}

/** What models write before a command: bullets, numbers, quotes, labels, asterisks. */
const prefix =
  /^(?:\s+|[-*+•>#|]+\s*|\(?\d{1,3}[.):]\s*|["'`“”‘’]+|\*\*|(?:commands?|actions?|answer|output)\s*(?:\d+)?\s*[:=]\s*)+/i;

/**
 * Parses an answer line by line. Skips other lines and commands that name an unknown slot. A command that
 * starts an unknown flow becomes `cannot handle`, not supported. Returns an empty list if the answer has
 * no command.
 * @example parseCommands('1. `start flow transfer_money`\n- set slot amount 50', vocabulary)
 */
export function parseCommands(answer: string, vocabulary: Vocabulary): Command[] {
  const text = answer.slice(0, mostCharacters);
  const structured = parseStructured(text, vocabulary);
  if (structured !== undefined) return structured;
  const commands: Command[] = [];
  for (const line of text.split(/\r?\n/)) {
    for (const part of splitLine(line)) add(commands, parsePart(part, vocabulary));
  }
  return commands;
}

/**
 * Splits several commands on one line, also at a literal `\n`: only where the next part looks like a
 * command.
 */
function splitLine(line: string): string[] {
  const next =
    /(?:\s*[;,]\s*|(?:\\n)+[-*\s]*)(?=(?:start|set|cancel|disambiguate|clarify|provide|search|offtopic|repeat|skip|hand|continue|restart)[\s_]*(?:flow|slot|info|and|reply|message|question|over|agent)s?\b)/i;
  return line.slice(0, 4_000).split(next);
}

function parsePart(part: string, vocabulary: Vocabulary): Command | undefined {
  const text = part.replace(prefix, '');
  for (const [pattern, read] of readers) {
    const match = pattern.exec(text);
    if (match === null) continue;
    // "start flow: x", "start flow = x", "StartFlow(x)"
    const after = text.slice(match[0].length).replace(/^["'`*\s]*[:=(]\s*/, '');
    return read({ rest: after, names: after.match(/[A-Za-z0-9_-]+/g) ?? [] }, vocabulary);
  }
  return undefined;
}

function add(commands: Command[], command: Command | undefined): void {
  if (command === undefined || commands.length >= mostCommands) return;
  const same = JSON.stringify(command);
  if (!commands.some((one) => JSON.stringify(one) === same)) commands.push(command);
}

function startFlow(name: string | undefined, vocabulary: Vocabulary): Command | undefined {
  if (name === undefined) return undefined;
  const flow = findFlow(name, vocabulary);
  return flow === undefined ? notSupported : { command: 'start flow', flow: flow.id };
}

/** Finds a flow by id or readable name, ignoring case, spaces, hyphens and underscores. */
function findFlow(name: string | undefined, { flows }: Vocabulary): Flow | undefined {
  if (name === undefined) return undefined;
  const exact = flows.get(name);
  if (exact !== undefined) return exact.isPattern ? undefined : exact;
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]+/g, '_');
  const wanted = plain(name);
  const near = [...flows.values()].filter(
    (flow) => !flow.isPattern && (plain(flow.id) === wanted || plain(flow.name) === wanted),
  );
  return near.length === 1 ? near[0] : undefined;
}

/** `name value`, `name = value`, `name: value`, `name, value)` and with quotes around the name. */
function setSlot(rest: string, vocabulary: Vocabulary): Command | undefined {
  const match = /^["'`*\s]*([A-Za-z0-9_-]+)["'`*]*\s*[:=,]?\s*(.*)$/s.exec(rest);
  const slot = match === null ? undefined : vocabulary.domain.slots.get(match[1] ?? '');
  if (slot === undefined) return undefined;
  // Drops the bracket of `SetSlot(a, b)`, and characters that models leave at the end of a line.
  const written = (match?.[2] ?? '').replace(/(?:\\n|[`*\s])+$/, '');
  const isCall = written.endsWith(')') && !written.includes('(');
  const value = isCall ? written.slice(0, -1) : written;
  return { command: 'set slot', name: slot.name, value: readValue(slot, value), by: 'llm' };
}

function clarify(names: readonly string[], vocabulary: Vocabulary): Command {
  const flows = names.flatMap((name) => findFlow(name, vocabulary)?.id ?? []);
  return { command: 'clarify', options: [...new Set(flows)] };
}

/** Parses commands as JSON; undefined if the answer is not JSON. */
function parseStructured(answer: string, vocabulary: Vocabulary): Command[] | undefined {
  const body = answer.replace(/^\s*```(?:json)?\s*|\s*```\s*$/g, '').trim();
  if (!body.startsWith('{') && !body.startsWith('[')) return undefined;
  let value: JsonValue;
  try {
    value = parseJson(body);
  } catch {
    return undefined;
  }
  const list = Array.isArray(value) ? value : field(value, 'commands');
  if (!Array.isArray(list)) return undefined;
  const commands: Command[] = [];
  for (const item of list.slice(0, mostCommands) as readonly JsonValue[]) {
    if (typeof item === 'string') add(commands, parsePart(item, vocabulary));
    else add(commands, readStructured(item, vocabulary));
  }
  return commands;
}

function readStructured(item: JsonValue, vocabulary: Vocabulary): Command | undefined {
  const name = field(item, 'command');
  if (typeof name !== 'string') return undefined;
  if (/^set[\s_]*slot/i.test(name)) {
    const slotName = field(item, 'slot') ?? field(item, 'name');
    const slot = typeof slotName === 'string' ? vocabulary.domain.slots.get(slotName) : undefined;
    if (slot === undefined) return undefined;
    const value = readValue(slot, field(item, 'value') ?? null);
    return { command: 'set slot', name: slot.name, value, by: 'llm' };
  }
  const names = [field(item, 'flow'), field(item, 'agent'), field(item, 'flows')]
    .flat()
    .filter((one) => typeof one === 'string');
  return parsePart([name, ...names].join(' '), vocabulary);
}

function field(value: JsonValue, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

const clearing = /^(?:null|none|undefined|nil|empty|n\/a|)$/i;

/** Removes quotes and backticks around a value, in pairs or at one end. */
function unwrap(text: string): string {
  const trimmed = text.trim();
  const quoted = /^(["'`\u201c\u2018]+)(.*?)(?:["'`\u201d\u2019]+)/s.exec(trimmed);
  if (quoted !== null && quoted[2] !== undefined) {
    // The closing quote must match the opening one: an apostrophe inside ("Bob's") doesn't close.
    const mark = quoted[1]?.[0] ?? '';
    const close = { '\u201c': '\u201d', '\u2018': '\u2019' }[mark] ?? mark;
    const end = trimmed.lastIndexOf(close);
    if (end > 0) return trimmed.slice(quoted[1]?.length ?? 1, end).trim();
  }
  return trimmed.replace(/^[`"]+|[`"]+$/g, '').trim();
}

/**
 * Converts a model's value to the slot's type. A value that the slot rejects stays as written: the engine
 * tells the user what is wrong.
 */
function readValue(slot: Slot, written: JsonValue): JsonValue {
  if (written === null) return null;
  if (typeof written !== 'string') return coerced(slot, written) ?? written;
  const text = unwrap(written);
  const direct = coerced(slot, text);
  const isDeclared = slot.type === 'categorical' && direct !== undefined;
  if (clearing.test(text) && !isDeclared) return null;
  if (slot.type === 'text' || slot.type === 'any') return text;
  if (direct !== undefined) return direct;
  switch (slot.type) {
    case 'bool': {
      const word = /^(true|false|yes|no)\b/i.exec(text)?.[1];
      return word === undefined ? text : (coerced(slot, word) ?? text);
    }
    case 'float':
      return findNumbers(readMessage(text))[0]?.value ?? text;
    case 'categorical':
      return longestPrefix(slot, text) ?? text;
    default:
      return text;
  }
}

/** "savings (as the user said)": the longest declared value that the text starts with. */
function longestPrefix(slot: Slot, text: string): JsonValue | undefined {
  const lower = text.toLowerCase();
  const fitting = (slot.values ?? []).filter((value) => {
    const name = textOfValue(value).toLowerCase();
    return lower.startsWith(name) && !/^[\p{L}\p{N}]/u.test(lower.slice(name.length));
  });
  return fitting.toSorted((one, two) => textOfValue(two).length - textOfValue(one).length)[0];
}

function coerced(slot: Slot, value: JsonValue): JsonValue | undefined {
  const result = coerceSlotValue(slot, value);
  return result.ok ? result.value : undefined;
}
