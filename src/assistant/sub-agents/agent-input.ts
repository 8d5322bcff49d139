import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import type { Call } from '../executor/call-handler.ts';
import type { Slot } from '../model.ts';
import type { SubAgent } from '../project/sub-agents.ts';
import { isTrackerEvent } from '../tracker/events.ts';
import type { TranscriptEntry } from '../tracker/state.ts';
import { digestId } from '../../store/index.ts';
import type { AgentInput, AgentInputSlot } from './model.ts';

/** The input of a call. Built-in slots of the engine are omitted. */
export async function agentInput(
  agent: SubAgent,
  call: Call,
  facts: { readonly modelId: string },
): Promise<AgentInput> {
  const tracker = await call.tracker();
  const events = Array.isArray(tracker['events']) ? tracker['events'].filter(isTrackerEvent) : [];
  return {
    id: idOf(agent, call, events),
    userMessage: call.userMessage,
    slots: inputSlots(call.domain.slots, call.slots),
    conversationHistory: historyText(call.transcript),
    events,
    metadata: {
      ...call.metadata,
      sender_id: call.senderId,
      agent_id: agent.name,
      flow_id: call.flow.id,
      model_id: facts.modelId,
      ...(call.step.exitIf !== undefined && { exit_if: call.step.exitIf }),
      ...(call.mode === 'resume' && { resumed_after_interruption: true }),
      ...(call.mode === 'restart' && { restarted: true }),
    },
    timestamp: new Date(call.clock.now()).toISOString(),
    recipientId: call.senderId,
  };
}

/** The slots of a project, without the built-in ones. */
export function inputSlots(
  slots: ReadonlyMap<string, Slot>,
  values: JsonObject,
): readonly AgentInputSlot[] {
  return [...slots.values()]
    .filter((slot) => !slot.builtin)
    .map((slot) => inputSlot(slot, values[slot.name] ?? null));
}

function inputSlot(slot: Slot, value: JsonValue): AgentInputSlot {
  const allowedValues = slot.type === 'bool' ? [true, false] : slot.values;
  return {
    name: slot.name,
    value,
    type: slot.type,
    ...(allowedValues !== undefined && { allowedValues }),
  };
}

const speakers = { user: 'USER', bot: 'AI' } as const;

export function historyText(transcript: readonly TranscriptEntry[]): string {
  return transcript
    .map(({ speaker, text, agentId }) => {
      const who = speaker === 'agent' ? `AGENT ${agentId ?? ''}`.trim() : speakers[speaker];
      return `${who}: ${text.replaceAll(/\s*\n\s*/g, ' ')}`;
    })
    .join('\n');
}

/**
 * The idempotency key of a call: the same when a turn is retried, so that a remote agent handles the call
 * once; different for each call of the agent within a turn.
 */
function idOf(agent: SubAgent, call: Call, events: readonly TrackerEvent[]): string {
  const heardAt = events.findLastIndex(({ event }) => event === 'user');
  const messageId = events[heardAt]?.['message_id'] ?? '';
  const calls = events
    .slice(heardAt + 1)
    .filter((event) => /^agent_(started|resumed|completed)$/.test(event.event)).length;
  return digestId(call.senderId, messageId, agent.name, call.step.id, call.mode, calls);
}

/** How many of the last transcript entries belong to the current run of the agent. */
export function entriesOfRun(agent: string, input: AgentInput): number {
  const { events } = input;
  const start = events.findLastIndex(
    ({ event, agent_id: id }) => event === 'agent_started' && id === agent,
  );
  // The message that triggered the call was recorded before the agent started.
  const from = events.slice(0, start + 1).findLastIndex(({ event }) => event === 'user');
  return events.slice(Math.max(0, from)).filter(isUtterance).length;
}

function isUtterance({ event, text }: TrackerEvent): boolean {
  return (event === 'user' || event === 'bot') && typeof text === 'string' && text !== '';
}

/** The input's slots by name. */
export function slotValues(input: AgentInput): JsonObject {
  return Object.fromEntries(input.slots.map(({ name, value }) => [name, value]));
}
