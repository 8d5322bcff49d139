import { isJsonObject, type JsonValue, shortened } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { backoff, Deadline } from '../../time/index.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { BotMessage } from '../conversation.ts';
import { storedSlotValue } from '../domain/slot.ts';
import type { Call, CallOutcome } from '../executor/call-handler.ts';
import type { Domain } from '../model.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { AgentOutput } from './model.ts';

/** Maximum characters of one message to the user. */
const longestMessage = 32_000;
/** Maximum characters of the metadata that is kept while the user is asked. */
const mostMetadata = 64_000;

/** Converts an agent's output to the result of a call. Exit conditions are evaluated after the hooks. */
export function outcomeOf(call: Call, output: AgentOutput): CallOutcome {
  const { status, errorMessage } = output;
  if (status !== 'completed' && status !== 'input_required') {
    const isKnown = status === 'fatal_error' || status === 'recoverable_error';
    const unknown = `the agent answered with the unknown status ${JSON.stringify(status)}`;
    const reason = isKnown ? (errorMessage ?? 'the agent failed') : unknown;
    return { status: 'failed', reason, messages: isKnown ? messagesOf(output) : [] };
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
  // The exit conditions are true, so the agent's question needs no answer.
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
  return shortened(text, longestMessage);
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

/** The slot value that an event sets, as stored; undefined if it sets none. */
export function slotOfEvent(
  { event, name, value = null }: EventDraft,
  { slots }: Domain,
): { readonly name: string; readonly value: JsonValue } | undefined {
  const slot = event === 'slot' && typeof name === 'string' ? slots.get(name) : undefined;
  if (slot === undefined) return undefined;
  const stored = storedSlotValue(slot, value);
  return stored.ok ? { name: slot.name, value: stored.value } : undefined;
}

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

const delays = { initialMs: 500, maximumMs: 8_000 };

/** Retries recoverable errors of an agent with exponential backoff; the last one becomes fatal. */
export async function withRetries(
  attempt: () => Promise<AgentOutput>,
  options: {
    readonly agent: string;
    readonly retries: number;
    readonly sleep: Sleep;
    readonly signal: AbortSignal;
    readonly logger: Logger;
  },
): Promise<AgentOutput> {
  const { agent, retries, sleep, signal, logger } = options;
  for (let count = 0; ; count += 1) {
    const output = await attempt();
    if (output.status !== 'recoverable_error') return output;
    if (count >= retries) return { ...output, status: 'fatal_error' };
    const delayMs = backoff(count + 1, delays);
    logger.warn(
      { agent, attempt: count + 1, waitMs: delayMs, error: output.errorMessage },
      'sub_agent.retry',
    );
    await sleep(delayMs, signal);
  }
}

/** An abort signal for the timeout of an agent or a tool, in seconds; undefined for no limit. */
export function timeLimit(seconds: number | undefined, signal: AbortSignal): Deadline {
  const reason = (): Error => new Error(`took longer than ${seconds} s`);
  return new Deadline({ signal, milliseconds: (seconds ?? 0) * 1000, reason });
}

/** Maximum number of progress messages per call; further ones are dropped. */
const maxMessages = 200;

/**
 * Progress messages of a call over all attempts: deduplicated, since a retried agent may send them
 * again, and limited in number. Messages after the end of the call are dropped.
 */
export class ProgressMessages implements Disposable {
  readonly #call: Call;
  readonly #sent = new Set<string>();
  #count = 0;
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Returns `say` for the next attempt. */
  attempt(): Call['say'] {
    const before = new Set(this.#sent);
    return async (message) => {
      if (this.#isOver) return;
      const { text } = message;
      const sent = text === undefined ? message : { ...message, text: bounded(text) };
      const identity = JSON.stringify(sent);
      if (before.has(identity)) return;
      this.#count += 1;
      if (this.#count === maxMessages + 1) {
        this.#call.logger.warn({ agent: this.#call.step.target }, 'sub_agent.progress_dropped');
      }
      if (this.#count > maxMessages) return;
      this.#sent.add(identity);
      await this.#call.say(sent);
    };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }
}
