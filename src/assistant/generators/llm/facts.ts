import type { JsonValue } from '../../../protocol/index.ts';
import { type GeneratorInput, presentMoment } from '../../commands/generator.ts';
import { type FlowQuestion, isFilledByUser, questionsOf } from '../../flows/flow-slots.ts';
import type { Flow, Slot } from '../../model.ts';
import type { LlmGeneratorOptions } from './llm-generator.ts';

/**
 * The variables of prompts, with the names that prompt templates of projects use. All of them are data:
 * texts of users are inserted as JSON strings and are never part of the instructions.
 */
export type PromptFacts = {
  readonly available_flows: readonly FlowFacts[];
  readonly current_conversation: string;
  readonly flow_slots: readonly SlotFacts[];
  readonly current_flow: string | null;
  readonly current_slot: string | null;
  readonly current_slot_description: string | null;
  readonly current_slot_type: string | null;
  readonly current_slot_allowed_values: readonly JsonValue[] | null;
  readonly user_message: string;
  readonly current_datetime: string | null;
  /** The sub agent that waits for the user's answer. */
  readonly active_agent: AgentFacts | null;
  /** The completed sub agents of the active flow. */
  readonly completed_agents: readonly AgentFacts[];
};

export type FlowFacts = {
  readonly name: string;
  readonly description: string;
  readonly slots: readonly Omit<SlotFacts, 'value'>[];
  /** The sub agents that the flow calls. */
  readonly agent_info: readonly AgentFacts[];
};

export type AgentFacts = { readonly name: string; readonly description: string };

export type SlotFacts = {
  readonly name: string;
  readonly value: JsonValue;
  readonly type: string;
  readonly description: string | null;
  readonly allowed_values: readonly JsonValue[] | null;
};

/** Maximum number of conversation entries that the model sees. */
const maxTranscript = 20;

export function gatherFacts(
  input: GeneratorInput,
  flows: readonly Flow[],
  options: Omit<LlmGeneratorOptions, 'model'>,
): PromptFacts {
  const { includeDateTime = true, timezone = 'UTC', maxCharacters = 420 } = options;
  const asked = input.activeCollect;
  const { active, completed } = input.agents;
  const running = input.callingFlow ?? input.activeFlow;
  const questions = running === undefined ? [] : fillable(input, running);
  return {
    available_flows: flows.map((flow) => flowFacts(input, flow)),
    current_conversation: conversation(input, maxTranscript, maxCharacters),
    flow_slots: questions.map((question) => ({
      ...slotFacts(question),
      value: input.slots[question.slot.name] ?? null,
    })),
    current_flow: input.activeFlow?.id ?? null,
    current_slot: asked?.slot.name ?? null,
    current_slot_description: asked?.step.description ?? null,
    current_slot_type: asked?.slot.type ?? null,
    current_slot_allowed_values: asked === undefined ? null : allowedValues(asked.slot),
    user_message: sanitise(input.text, maxCharacters),
    current_datetime: includeDateTime ? dateTimeLine(presentMoment(input), timezone) : null,
    active_agent: active === undefined ? null : agentFacts(input, active),
    completed_agents: completed.map((name) => agentFacts(input, name)),
  };
}

/** Converts a text to one line without control characters, truncated to `maxCharacters`. */
function sanitise(text: string, maxCharacters: number): string {
  return text
    .slice(0, maxCharacters)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
}

function flowFacts(input: GeneratorInput, flow: Flow): FlowFacts {
  const calls = [...flow.steps.values()].filter((step) => step.kind === 'call');
  const agents = calls.filter(
    (step) => step.mcpServer === undefined && !input.allFlows.has(step.target),
  );
  return {
    name: flow.id,
    description: sanitise(flow.description, 1_000),
    slots: fillable(input, flow).map(slotFacts),
    agent_info: [...new Set(agents.map((step) => step.target))].map((name) =>
      agentFacts(input, name),
    ),
  };
}

function agentFacts({ agents }: GeneratorInput, name: string): AgentFacts {
  return { name, description: sanitise(agents.descriptions?.get(name) ?? '', 1_000) };
}

function fillable(input: GeneratorInput, flow: Flow): readonly FlowQuestion[] {
  return questionsOf(flow, input.allFlows, input.domain).filter(({ slot }) => isFilledByUser(slot));
}

function slotFacts({ slot, step }: FlowQuestion): Omit<SlotFacts, 'value'> {
  return {
    name: slot.name,
    type: slot.type,
    description: step.description ?? null,
    allowed_values: allowedValues(slot),
  };
}

function allowedValues(slot: Slot): readonly JsonValue[] | null {
  if (slot.type === 'bool') return [true, false];
  return slot.type === 'categorical' ? (slot.values ?? []) : null;
}

/** The last messages, oldest first, one line each, the current message last. */
function conversation(input: GeneratorInput, most: number, maxCharacters: number): string {
  const lines = input.transcript.slice(-most).map((entry) => {
    const titles = (entry.buttons ?? []).map((button) => sanitise(button.title, 100));
    const buttons = titles.length > 0 ? ` [buttons: ${titles.join(' | ')}]` : '';
    const speaker =
      entry.speaker === 'agent' ? `AGENT ${entry.agentId ?? ''}`.trim() : speakers[entry.speaker];
    return `${speaker}: ${sanitise(entry.text, 1_000)}${buttons}`;
  });
  return [...lines, `USER: ${sanitise(input.text, maxCharacters)}`].join('\n');
}

const speakers = { user: 'USER', bot: 'AI' } as const;

/** `Sunday, 15 November 2026, 10:00 (UTC)` */
export function dateTimeLine(milliseconds: number, timeZone: string): string {
  const text = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(milliseconds);
  const part = (type: Intl.DateTimeFormatPartTypes): string =>
    text.find((one) => one.type === type)?.value ?? '';
  const day = `${part('weekday')}, ${part('day')} ${part('month')} ${part('year')}`;
  return `${day}, ${part('hour')}:${part('minute')} (${timeZone})`;
}
