import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Call } from '../../executor/index.ts';
import { entriesOfRun } from '../agent-input.ts';
import type { AgentInput } from '../model.ts';

/** Utterances of users and bots that the model sees. */
const mostEntries = 10;

/**
 * What was said last, as turns of a chat; the present message is the last. What belongs to an
 * earlier run of an agent that was restarted stands in brackets.
 */
export function chatHistory(agent: string, call: Call, input: AgentInput): LanguageModelV4Prompt {
  const { transcript, metadata, mode } = call;
  // The message may have been changed on the way to the agent.
  const isNews = transcript.at(-1)?.speaker === 'user';
  const former = isNews ? transcript.slice(0, -1) : transcript;
  const isRestarted = mode === 'restart' || metadata['restarted'] === true;
  const own = isRestarted ? entriesOfRun(agent, input) - 1 : former.length;
  const entries = former.map((entry, index) => ({
    role: entry.speaker === 'user' ? ('user' as const) : ('assistant' as const),
    text: index < former.length - own ? `[${entry.text}]` : entry.text,
  }));
  const said = entries.filter(({ text }) => text !== '').slice(1 - mostEntries);
  // What others have answered since is not to be answered once more.
  const heard = isNews ? input.userMessage : `(Answered already: ${input.userMessage})`;
  const now = { role: 'user' as const, text: heard };
  return [...said, now].map(({ role, text }) => ({ role, content: [{ type: 'text', text }] }));
}
