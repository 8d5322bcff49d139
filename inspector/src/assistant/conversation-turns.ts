import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';
import { textIn } from '../ui/text.ts';

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

/** A call of a language model to understand a message. */
export interface ModelCall {
  readonly component: string;
  readonly model: string;
  readonly prompt: string;
  readonly answer: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly milliseconds: number | undefined;
  /** The error code; empty on success. */
  readonly error: string;
}

/** A flow that the matching generator compared a message with. */
export interface Candidate {
  readonly flow: string;
  readonly score: number;
  /** The share of the message that the flow explains, 0 to 1. */
  readonly confidence: number;
  /** The flow's phrase that is nearest to the message. */
  readonly phrase: string;
  /** The words of the message that the flow contains. */
  readonly words: readonly string[];
  /** `started`, `offered` or `not started`. */
  readonly outcome: string;
  readonly why: string;
}

export interface SlotChange {
  readonly name: string;
  readonly value: JsonValue;
  readonly filledBy?: string;
  /** Whether an operator or the HTTP API set it, after the turn. */
  readonly isEdited?: true;
}

/** One message of the user, its effects, and the state after it. */
export interface ConversationTurn {
  /** 0 for events before the first message. */
  readonly number: number;
  readonly text: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly commands: readonly JsonObject[];
  /** The flows that the message was compared with, best first; none with a language model. */
  readonly candidates: readonly Candidate[];
  readonly modelCalls: readonly ModelCall[];
  readonly events: readonly JsonObject[];
  readonly messages: readonly BotMessage[];
  readonly changes: readonly SlotChange[];
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The last frame is the top. */
  readonly stack: readonly Frame[];
}

/** Reads the turns of a conversation from its tracker, with the state after each. */
export function conversationTurns(tracker: JsonObject): readonly ConversationTurn[] {
  const events = listOf(tracker['events']);
  const initial = initialSlots(tracker, events);
  const turns: ConversationTurn[] = [];
  let slots = initial;
  let number = 0;
  let stack: readonly Frame[] = [];
  for (const group of grouped(events)) {
    const changes: SlotChange[] = [];
    const end = group.findLastIndex(({ name }) => name === 'action_listen');
    for (const [index, event] of group.entries()) {
      const { event: kind, name, value = null, filled_by: filledBy } = event;
      if (kind === 'slot' && typeof name === 'string') {
        slots = { ...slots, [name]: value };
        changes.push({
          name,
          value,
          ...(typeof filledBy === 'string' && { filledBy }),
          ...(end >= 0 && index > end && { isEdited: true }),
        });
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

/** A channel sends this message when a conversation opens, not the user. */
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
    text: number === 0 ? '' : textIn(user?.['text']),
    time: Number((user ?? events[0])?.['timestamp'] ?? 0),
    commands: listOf(parsed['commands']),
    candidates: listOf(parsed['candidates']).map(candidateOf),
    modelCalls: events.flatMap(modelCallsIn),
    events,
    messages: bots.map((event) => {
      const utter = objectOf(event['metadata'])['utter_action'];
      return { text: textIn(event['text']), ...(typeof utter === 'string' && { utter }) };
    }),
  };
}

function candidateOf(candidate: JsonObject): Candidate {
  const { flow, score, confidence, phrase, words, outcome, why } = candidate;
  return {
    flow: textIn(flow),
    score: Number(score),
    confidence: Number(confidence),
    phrase: textIn(phrase),
    words: Array.isArray(words) ? words.map(textIn) : [],
    outcome: textIn(outcome),
    why: textIn(why),
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

/** The model calls of an event: `prompts` of its `parse_data`, or of its metadata. */
function modelCallsIn(event: JsonObject): readonly ModelCall[] {
  const { prompts = objectOf(event['metadata'])['prompts'] } = objectOf(event['parse_data']);
  return listOf(prompts).map((call) => {
    const usage = objectOf(call['usage']);
    return {
      component: textIn(call['component']),
      model: textIn(call['model']),
      prompt: textIn(call['prompt']),
      answer: textIn(call['answer']),
      inputTokens: numberIn(usage['input_tokens']),
      outputTokens: numberIn(usage['output_tokens']),
      milliseconds: numberIn(call['duration_ms']),
      error: textIn(call['error']),
    };
  });
}

/** The logged stack is always a patch that replaces the whole stack; undefined for other patches. */
export function stackIn({ update }: JsonObject): readonly Frame[] | undefined {
  const whole = listOf(parseJsonOr(textIn(update), undefined)).findLast(({ path }) => path === '');
  if (whole === undefined) return undefined;
  return listOf(whole['value']).map((frame) => {
    const { agent_id: agentId, state } = frame;
    return {
      frameId: textIn(frame['frame_id']),
      type: textIn(frame['type']),
      flowId: textIn(frame['flow_id']),
      stepId: textIn(frame['step_id']),
      ...(typeof agentId === 'string' && { agentId }),
      ...(typeof state === 'string' && { agentState: state }),
    };
  });
}

// Tracker JSON is untrusted: values of the wrong type count as absent.

export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
