import { Deadline, until } from '../../time/index.ts';
import { type EventDraft, slotSet } from '../tracker/events.ts';
import {
  type Action,
  type ActionCall,
  type ActionContext,
  type ActionMessage,
  type ActionResult,
  type ActionRunner,
  MessageStream,
} from './runner.ts';

/**
 * Limits of in-process actions.
 * @example
 * const options: InProcessOptions = { timeoutMs: 10_000 }; // users do not wait five minutes
 */
export interface InProcessOptions {
  /** Timeout of an action in milliseconds. @default 300_000 */
  readonly timeoutMs?: number;
}

/**
 * Runs actions that were written with `defineAction`, in this process.
 * @example
 * const actions = new InProcessActions([rate], { timeoutMs: 10_000 });
 * await using assistant = await buildAssistant(project, { actions });
 */
export class InProcessActions implements ActionRunner {
  readonly #actions: ReadonlyMap<string, Action>;
  readonly #timeoutMs: number;

  constructor(actions: readonly Action[], options: InProcessOptions = {}) {
    this.#actions = new Map(actions.map((action) => [action.name, action]));
    this.#timeoutMs = options.timeoutMs ?? 300_000;
  }

  isIdempotent(name: string): boolean {
    return this.#actions.get(name)?.isIdempotent === true;
  }

  has(name: string): boolean {
    return this.#actions.has(name);
  }

  async run(call: ActionCall): Promise<ActionResult> {
    const action = this.#actions.get(call.name);
    if (action === undefined) throw new Error(`no action ${call.name} is defined`);
    const milliseconds = this.#timeoutMs;
    using deadline = new Deadline({
      signal: call.signal,
      milliseconds,
      reason: () => timedOut(call.name, milliseconds),
    });
    const { signal } = deadline;
    const messages: ActionMessage[] = [];
    const events: EventDraft[] = [];
    const stream = new MessageStream({
      show: call.stream,
      newId: call.newId,
      ended: (message) => messages.push(message),
    });
    const context = contextFor({ ...call, signal }, messages, events, stream);
    try {
      // The turn doesn't wait for an action that ignores the signal.
      const returned = await until(action.run(context), signal);
      if (stream.isOpen) {
        call.logger.warn({ action: call.name }, 'action.stream.not_ended');
        await stream.end();
      }
      return { messages, events: [...events, ...(returned ?? [])] };
    } catch (error) {
      await stream.end();
      throw error;
    }
  }
}

function contextFor(
  call: ActionCall,
  messages: ActionMessage[],
  events: EventDraft[],
  stream: MessageStream,
): ActionContext {
  const { name: _name, newId: _newId, ...turn } = call;
  return {
    ...turn,
    slots: { ...call.slots },
    utter: (message) => {
      messages.push(typeof message === 'string' ? { text: message } : message);
    },
    utterResponse: (response, values = {}) => {
      messages.push({ response, values });
    },
    setSlot: (name, value) => {
      events.push(slotSet(name, value));
    },
    emit: (event) => {
      events.push(event);
    },
    stream,
  };
}

/** Has the same name as the error of `AbortSignal.timeout`. */
function timedOut(action: string, milliseconds: number): DOMException {
  return new DOMException(`${action} took longer than ${milliseconds} ms`, 'TimeoutError');
}
