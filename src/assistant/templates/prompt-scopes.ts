import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { AgentInputSlot } from '../sub-agents/model.ts';
import type { TranscriptEntry } from '../tracker/state.ts';
import { KeyedList } from './value.ts';

// The variables of each kind of prompt, for conversations and for the samples that `validate` renders.

/** The slots of a project in prompts: `for slot in slots`, and `slots.amount`. */
function slotList(slots: readonly AgentInputSlot[]): KeyedList {
  return KeyedList.make(
    slots.map(({ name, value, type, allowedValues }) => ({
      name,
      value,
      type,
      allowed_values: allowedValues ?? null,
    })),
  );
}

/** The variables of the rephraser. */
export function rephraserScope(facts: {
  readonly text: string;
  readonly transcript: readonly TranscriptEntry[];
  /** Number of messages in the history. */
  readonly maxMessages: number;
  /** The code of a language, such as `de`. */
  readonly language: string;
}) {
  const { text, transcript, maxMessages, language } = facts;
  const recent = maxMessages === 0 ? [] : transcript.slice(-maxMessages);
  return {
    suggested_response: text,
    history: recent.map(({ speaker, text: said }) => `${speaker}: ${said}`).join('\n'),
    current_input: transcript.findLast(({ speaker }) => speaker === 'user')?.text ?? '',
    language: languageName(language),
  };
}

/** `de` is `German`; an unknown code stays as it is. */
function languageName(code: string): string {
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** The variables of ReAct sub agents. */
export function agentScope(facts: {
  readonly description: string;
  /** The slots of the agent's exit conditions. */
  readonly exitSlots: readonly string[];
  readonly slots: readonly AgentInputSlot[];
  readonly conversationHistory: string;
  readonly currentDateTime: string | null;
  readonly fillerMessages: boolean;
  readonly isResumed: boolean;
  readonly lastRequest: string | null;
  readonly isRestarted: boolean;
  readonly toolResults: readonly JsonObject[];
}) {
  const known = facts.slots.filter(({ value }) => value !== null);
  const values = Object.fromEntries(known.map(({ name, value }) => [name, value]));
  return {
    description: facts.description,
    slot_names: [...facts.exitSlots],
    slots: slotList(facts.slots),
    conversation_history: facts.conversationHistory,
    known_slots: known.length === 0 ? null : values,
    current_datetime: facts.currentDateTime,
    enable_filler_messages: facts.fillerMessages,
    resumed_after_interruption: facts.isResumed,
    resumed_last_request: facts.lastRequest,
    restarted: facts.isRestarted,
    tool_results: facts.toolResults.length === 0 ? null : [...facts.toolResults],
  };
}

/** The variables of enterprise search. */
export function searchScope(facts: {
  readonly passages: readonly {
    readonly text: string;
    readonly source: string;
    readonly title?: string | undefined;
  }[];
  readonly slots: readonly AgentInputSlot[];
  readonly transcript: readonly TranscriptEntry[];
  readonly hasCitations: boolean;
  readonly checksRelevancy: boolean;
}) {
  return {
    docs: facts.passages.map(({ text, source, title = '' }): JsonValue => ({
      content: text,
      page_content: text,
      text,
      metadata: { source, title },
    })),
    slots: slotList(facts.slots),
    current_conversation: facts.transcript
      .map(({ speaker, text }) => `${speaker === 'user' ? 'USER' : 'AI'}: ${text}`)
      .join('\n'),
    citation_enabled: facts.hasCitations,
    check_relevancy: facts.checksRelevancy,
  };
}
