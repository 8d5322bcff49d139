import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { AssistantOptions, TurnRequest } from '../assistant-options.ts';
import { Assistant } from '../assistant.ts';
import type { Command, TrackerEvent } from '../conversation.ts';
import type { History } from '../executor/dialogue.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { TurnResult } from '../turn-result.ts';
import { TestClock } from './domain.ts';
import type { TestProject } from './project.ts';

/** Shorthands for commands. */
export function start(flow: string): Command {
  return { command: 'start flow', flow };
}

export function set(name: string, value: JsonValue): Command {
  return { command: 'set slot', name, value, by: 'llm' };
}

export const cancel: Command = { command: 'cancel flow' };
export const chitchat: Command = { command: 'chitchat' };
export const search: Command = { command: 'knowledge answer' };
export const repeat: Command = { command: 'repeat bot messages' };
export const skip: Command = { command: 'skip question' };
export const continueAgent: Command = { command: 'continue agent' };

export function clarify(...options: string[]): Command {
  return { command: 'clarify', options };
}

/**
 * A conversation with an assistant. As for real callers, the tracker goes through JSON between turns.
 */
export class Conversation {
  readonly clock = new TestClock();
  readonly assistant: Assistant;
  readonly log: TrackerEvent[] = [];
  tracker: JsonObject | undefined;
  last: TurnResult | undefined;
  #commands: readonly Command[] = [];

  constructor(project: TestProject, options: Partial<AssistantOptions> = {}) {
    let ids = 0;
    this.assistant = new Assistant({
      ...project,
      generator: { name: 'scripted', generate: () => Promise.resolve(this.#commands) },
      clock: this.clock,
      random: () => 0,
      newId: () => `id-${(ids += 1)}`,
      ...options,
    });
  }

  /** Sends a message that the generator reads as these commands. Returns the texts of the bot messages. */
  say(text: string, ...commands: Command[]): Promise<readonly string[]> {
    this.#commands = commands;
    return this.send({ text });
  }

  /** Like `say`, with all fields of a request. Without commands, the last ones are used again. */
  async send(request: Partial<TurnRequest>, ...commands: Command[]): Promise<readonly string[]> {
    if (commands.length > 0) this.#commands = commands;
    const result = await this.assistant.handle({
      senderId: 'ada',
      tracker: this.tracker,
      text: '',
      history: ({ last }) => Promise.resolve(this.log.slice(-last)),
      ...request,
    });
    this.last = result;
    this.tracker = JSON.parse(JSON.stringify(result.tracker)) as JsonObject;
    this.log.push(...result.events);
    return result.messages.map((message) => message.text ?? JSON.stringify(message));
  }

  /** Applies external events to the conversation. */
  async record(...events: EventDraft[]): Promise<void> {
    const { tracker } = this;
    const history: History = ({ last }) => Promise.resolve(this.log.slice(-last));
    const result = await this.assistant.record({ senderId: 'ada', tracker, history }, events);
    this.last = result;
    this.tracker = JSON.parse(JSON.stringify(result.tracker)) as JsonObject;
    this.log.push(...result.events);
  }

  slot(name: string): JsonValue {
    const slots = this.tracker?.['slots'] as JsonObject | undefined;
    return slots?.[name] ?? null;
  }

  get outcome(): TurnResult['outcome'] {
    if (this.last === undefined) throw new Error('nothing was said yet');
    return this.last.outcome;
  }

  /** The flow and agent events of the last turn, such as `flow_started send_parcel`. */
  get flowEvents(): readonly string[] {
    return (this.last?.events ?? [])
      .filter((event) => event.event.startsWith('flow_') || event.event.startsWith('agent_'))
      .filter((event) => !(event['flow_id'] as string).startsWith('pattern_'))
      .map((event) => `${event.event} ${(event['agent_id'] ?? event['flow_id']) as string}`);
  }
}
