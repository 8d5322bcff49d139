import type { JsonObject, JsonValue } from '../../../src/protocol/index.ts';
import { type ModelCall, modelCallsIn } from './model-calls.ts';
import { listOf, objectOf, textOf } from './tracker-json.ts';

/** A frame of the dialogue stack, as in tracker JSON. */
export interface Frame {
  readonly frameId: string;
  /** `flow`, `agent`, or the name of a pattern. */
  readonly type: string;
  readonly flowId: string;
  readonly stepId: string;
  readonly agentId?: string;
  readonly agentState?: string;
}

export interface BotMessage {
  readonly text: string;
  /** The name of its response, if it has one. */
  readonly utter?: string;
}

export interface SlotChange {
  readonly name: string;
  readonly value: JsonValue;
  readonly filledBy?: string;
}

/** One message of the user, its effects, and the state after it. */
export interface ConversationTurn {
  /** 0 for events before the first message. */
  readonly number: number;
  readonly text: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly commands: readonly JsonObject[];
  readonly modelCalls: readonly ModelCall[];
  readonly events: readonly JsonObject[];
  readonly messages: readonly BotMessage[];
  readonly changes: readonly SlotChange[];
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The last frame is the top. */
  readonly stack: readonly Frame[];
}

/** The turns of a conversation, from its tracker: enough to show the state after any of them. */
export function conversationTurns(tracker: JsonObject): readonly ConversationTurn[] {
  const events = listOf(tracker['events']);
  const initial = initialSlots(tracker, events);
  const turns: ConversationTurn[] = [];
  let slots = initial;
  let number = 0;
  let stack: readonly Frame[] = [];
  for (const group of grouped(events)) {
    const changes: SlotChange[] = [];
    for (const event of group) {
      const { event: kind, name, value = null, filled_by: filledBy } = event;
      if (kind === 'slot' && typeof name === 'string') {
        slots = { ...slots, [name]: value };
        changes.push({ name, value, ...(typeof filledBy === 'string' && { filledBy }) });
      } else if (kind === 'reset_slots' || kind === 'restart' || kind === 'session_started') {
        slots = initial;
      } else if (kind === 'stack') stack = stackIn(event) ?? stack;
    }
    const [first] = group;
    const isOpening = turns.length === 0 && first !== undefined && isSessionStart(first);
    if (first?.['event'] === 'user' && !isOpening) number += 1;
    turns.push({ ...turnOf(number, group), changes, slots, stack });
  }
  return turns;
}

/** Each user message starts a turn; the session and the welcome come before the first one. */
function grouped(events: readonly JsonObject[]): readonly (readonly JsonObject[])[] {
  const groups: JsonObject[][] = [];
  let hasMessage = false;
  for (const event of events) {
    const isMessage = event['event'] === 'user' && (hasMessage || !isSessionStart(event));
    if (isMessage || groups.length === 0) groups.push([]);
    hasMessage ||= event['event'] === 'user';
    groups.at(-1)?.push(event);
  }
  return groups;
}

/** Sent by a channel when a conversation opens, not by the user. */
function isSessionStart({ event, text }: JsonObject): boolean {
  return event === 'user' && text === '/session_start';
}

function turnOf(
  number: number,
  events: readonly JsonObject[],
): Omit<ConversationTurn, 'changes' | 'slots' | 'stack'> {
  const user = events.find(({ event }) => event === 'user');
  const parsed = objectOf(user?.['parse_data']);
  const bots = events.filter(({ event }) => event === 'bot');
  return {
    number,
    text: number === 0 ? '' : textOf(user?.['text']),
    time: Number((user ?? events[0])?.['timestamp'] ?? 0),
    commands: listOf(parsed['commands']),
    modelCalls: events.flatMap(modelCallsIn),
    events,
    messages: bots.map((event) => {
      const utter = objectOf(event['metadata'])['utter_action'];
      return { text: textOf(event['text']), ...(typeof utter === 'string' && { utter }) };
    }),
  };
}

/** Slots that were never set have the initial values of the domain. */
function initialSlots(
  tracker: JsonObject,
  events: readonly JsonObject[],
): Readonly<Record<string, JsonValue>> {
  const set = new Set(events.filter(({ event }) => event === 'slot').map(({ name }) => name));
  const entries = Object.entries(objectOf(tracker['slots']));
  return Object.fromEntries(entries.map(([name, value]) => [name, set.has(name) ? null : value]));
}

/** The stack is always logged as a patch that replaces all of it; undefined for other patches. */
export function stackIn(event: JsonObject): readonly Frame[] | undefined {
  const { update } = event;
  if (typeof update !== 'string') return undefined;
  const patch = JSON.parse(update) as readonly { path?: string; value?: JsonValue }[];
  const whole = patch.findLast(({ path }) => path === '');
  return whole === undefined ? undefined : framesOf(whole.value);
}

function framesOf(value: JsonValue | undefined): readonly Frame[] {
  return listOf(value).map((frame) => {
    const { agent_id: agentId, state } = frame;
    return {
      frameId: textOf(frame['frame_id']),
      type: textOf(frame['type']),
      flowId: textOf(frame['flow_id']),
      stepId: textOf(frame['step_id']),
      ...(typeof agentId === 'string' && { agentId }),
      ...(typeof state === 'string' && { agentState: state }),
    };
  });
}
