import { isJsonObject } from '../../protocol/index.ts';
import type { BotMessage } from '../bot-message.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { Call, CallOutcome } from '../executor/call-handler.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { AgentOutput } from './model.ts';
import { slotOfEvent } from './slot-events.ts';

/** Characters of one message to the user. */
const longestMessage = 32_000;
/** Characters of what is kept of an agent while the user is asked. */
const mostMetadata = 64_000;

/** Converts an agent's output to the result of a call. Exit conditions are evaluated after the hooks. */
export function outcomeOf(call: Call, output: AgentOutput): CallOutcome {
  const { status, errorMessage } = output;
  if (status !== 'completed' && status !== 'input_required') {
    const isKnown = status === 'fatal_error' || status === 'recoverable_error';
    const unknown = `the agent answered with the status ${JSON.stringify(status)}, which is none`;
    return { status: 'failed', reason: isKnown ? (errorMessage ?? 'the agent failed') : unknown };
  }
  const events = usable(call, output.events ?? []);
  const metadata = output.metadata ?? {};
  if (JSON.stringify(metadata).length > mostMetadata) {
    const reason = `the agent wants more than ${mostMetadata} characters of metadata to be kept`;
    return { status: 'failed', reason };
  }
  if (status === 'completed') {
    return { status, messages: messagesOf(output), events, metadata };
  }
  // The exit condition holds, so the agent's question needs no answer.
  if (isExit(call, events)) return { status: 'completed', messages: [], events, metadata };
  return { status: 'input-required', messages: messagesOf(output), events, metadata };
}

function messagesOf({ responseMessage = '', streamed }: AgentOutput): readonly BotMessage[] {
  if (responseMessage === '') return [];
  const text = bounded(responseMessage);
  const isShown = streamed?.text === responseMessage;
  return [{ text, ...(isShown && { metadata: { streamed: true, stream_id: streamed.id } }) }];
}

export function bounded(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text;
}

/** Hooks are user code: values that aren't events are ignored. */
function usable({ logger, step }: Call, events: readonly unknown[]): readonly EventDraft[] {
  return events.filter((event): event is EventDraft => {
    const isEvent = isJsonObject(event) && typeof event['event'] === 'string';
    if (!isEvent) logger.warn({ agent: step.target }, 'sub_agent.event.ignored');
    return isEvent;
  });
}

function isExit({ step, slots, domain }: Call, events: readonly EventDraft[]): boolean {
  if (step.exitIf === undefined || step.exitIf.length === 0) return false;
  const values = { ...slots };
  for (const event of events) {
    const set = slotOfEvent(event, domain);
    if (set !== undefined) values[set.name] = set.value;
  }
  return step.exitIf.every((text) => compileCondition(text).evaluate({ slots: values }));
}
