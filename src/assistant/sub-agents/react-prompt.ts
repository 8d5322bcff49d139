import type { Entry } from '../../agents/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { Call } from '../executor/call-handler.ts';
import { dateTimeLine } from '../generators/llm/facts.ts';
import { presentMoment } from '../commands/generator.ts';
import type { ReactAgent } from '../project/sub-agents.ts';
import { compileTemplate } from '../templates/template.ts';
import { agentScope } from '../templates/prompt-scopes.ts';
import { entriesOfRun } from './agent-input.ts';
import type { AgentInput, StructuredResult } from './model.ts';

/** The default prompt; a project can set another with `prompt_template`. */
const template = `You work for an assistant that talks with a user. Your task:
{{ description }}

{% if slot_names %}Your task is done when these values are known: {{ slot_names | join(', ') }}. As soon as you know one, store it with its set_slot tool; the value must be what the user wants, never a guess.
{% else %}When the task is done, call task_completed, and beside the call write one or two sentences that tell the user what came of it. Do not call it while something is still open.
{% endif %}Use the tools for facts; make up nothing. When you need something from the user, ask for it in plain text without calling a tool: that ends your turn, and you get the answer. Ask one thing at a time and keep it short.
{% if enable_filler_messages %}When you call a tool that takes a while, write a few words beside the call, so that the user knows what you are doing.
{% else %}When you call a tool, write nothing beside the call.
{% endif %}{% if current_datetime %}Now it is {{ current_datetime }}.
{% endif %}{% if restarted %}The user wants to do this once more. What was said before in brackets belongs to the earlier time: do not take values from it.
{% endif %}{% if resumed_after_interruption %}The user did something else in between and is back now.{% if resumed_last_request %} You had said: {{ resumed_last_request }}{% endif %} The last message may not be an answer to you: when it is none, ask again.
{% endif %}{% if known_slots %}
Known already, as data:
{{ known_slots | tojson(ensure_ascii=false, sort_keys=false) }}
{% endif %}{% if tool_results %}
What your tools answered in earlier turns, as data:
{{ tool_results | tojson(ensure_ascii=false, sort_keys=false) }}
{% endif %}`;

export interface PromptFacts {
  readonly agent: ReactAgent;
  readonly call: Call;
  readonly input: AgentInput;
  /** For a task-specific agent: the slots of its exit conditions. */
  readonly exitSlots: readonly string[];
  /** A template of the project. */
  readonly own: string | undefined;
}

export function systemPrompt({ agent, call, input, exitSlots, own }: PromptFacts): string {
  const scope = agentScope({
    description: agent.description,
    exitSlots,
    slots: input.slots,
    conversationHistory: input.conversationHistory,
    currentDateTime: agent.includeDateTime
      ? dateTimeLine(presentMoment(call), agent.timezone)
      : null,
    fillerMessages: agent.enableFillerMessages,
    isResumed: call.mode === 'resume',
    lastRequest: lastRequest(call.metadata['last_message']),
    isRestarted: call.mode === 'restart' || call.metadata['restarted'] === true,
    toolResults: shownResults(formerResults(call.metadata)),
  });
  return compileTemplate(own ?? template).render(scope);
}

function lastRequest(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Maximum number of messages that the model sees. */
const mostEntries = 10;

/**
 * The last messages as chat messages, ending with the current one. Messages of an earlier run of a
 * restarted agent are in brackets.
 */
export function chatHistory(agent: string, call: Call, input: AgentInput): readonly Entry[] {
  const { transcript, metadata, mode } = call;
  // `processInput` may have changed the message, so it is taken from the input.
  const isNews = transcript.at(-1)?.speaker === 'user';
  const former = isNews ? transcript.slice(0, -1) : transcript;
  const isRestarted = mode === 'restart' || metadata['restarted'] === true;
  const own = isRestarted ? entriesOfRun(agent, input) - 1 : former.length;
  const entries = former.map((entry, index) => ({
    isUser: entry.speaker === 'user',
    text: index < former.length - own ? `[${entry.text}]` : entry.text,
  }));
  const said = entries.filter(({ text }) => text !== '').slice(1 - mostEntries);
  // Without a new message, another flow or agent has already answered the last one.
  const heard = isNews ? input.userMessage : `(Answered already: ${input.userMessage})`;
  return [...said, { isUser: true, text: heard }].map(({ isUser, text }) =>
    isUser ? { role: 'user', parts: [{ text }] } : { role: 'assistant', text },
  );
}

/** Maximum characters of earlier turns' results that the model sees. */
const mostShown = 8_000;
/** Maximum characters of all results that are kept while the user is asked. */
const mostKept = 48_000;

type Results = readonly (readonly StructuredResult[])[];

/** Tool results of earlier turns of the run, by step. */
export function formerResults(metadata: JsonObject): Results {
  const kept = metadata['structured_results'];
  const steps: readonly JsonValue[] = Array.isArray(kept) ? kept : [];
  return steps.map((step) => (Array.isArray(step) ? step : []).flatMap(toResult));
}

function toResult(value: JsonValue): readonly StructuredResult[] {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return [];
  const { name, result = null, isError } = value;
  return [{ name, result, ...(isError === true && { isError }) }];
}

/** The results as the conversation keeps them; drops the oldest beyond the limit. */
export function keptResults(results: Results): JsonValue {
  const steps = results.map((step) => step.map((one): JsonObject => ({ ...one })));
  return latest(steps, mostKept);
}

function shownResults(results: Results): readonly JsonObject[] {
  const useful = results.flat().filter(({ isError }) => isError !== true);
  return latest(
    useful.map(({ name, result }) => ({ name, result })),
    mostShown,
  );
}

function latest<T>(all: readonly T[], characters: number): T[] {
  let room = characters;
  const kept = all.toReversed().filter((one) => {
    room -= JSON.stringify(one).length;
    return room >= 0;
  });
  return kept.reverse();
}
