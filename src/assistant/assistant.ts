import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../agents/index.ts';
import { isJsonObject, type JsonObject, LegateError } from '../protocol/index.ts';
import { defaultLogger, type Logger, traced } from '../telemetry/index.ts';
import { waitAtMost } from '../time/index.ts';
import type { ActionRunner } from './actions/runner.ts';
import type { AssistantOptions, TurnRequest } from './assistant-options.ts';
import { executeCommands } from './commands/execute.ts';
import {
  MAX_PAYLOAD_CHARACTERS,
  readMessage,
  type ReadOptions,
  type Understanding,
} from './commands/read-message.ts';
import type { Command, TrackerEvent } from './conversation.ts';
import {
  isInBackground,
  abandonedAgents,
  cancelAgents,
  detachBackgroundAgents,
} from './executor/agents.ts';
import { applyEvents } from './executor/apply-events.ts';
import { Dialogue } from './executor/dialogue.ts';
import { countFlowEvents } from './executor/flow-spans.ts';
import { clearStack } from './executor/user-flows.ts';
import { ROUTED } from './executor/run-action.ts';
import { ensureSession, expiryOf, run, runEveryTurn } from './executor/run.ts';
import type { Domain, Flow } from './model.ts';
import { Responder } from './responses/responder.ts';
import { stackProblems } from './stack/stack.ts';
import {
  conversationInactive,
  type EventDraft,
  slotSet,
  userUttered,
  objectOf,
} from './tracker/events.ts';
import { loadState } from './tracker/state.ts';
import { Tracker } from './tracker/tracker.ts';
import { outcomeOf, type TurnResult } from './turn-result.ts';

export type { AssistantOptions, TurnRequest };

const noActions: ActionRunner = {
  has: () => false,
  run: ({ name }) =>
    Promise.reject(new Error(`no action ${name} here: configure an action runner`)),
};

/**
 * Runs conversations over a domain and flows. It is stateless between turns: each turn takes a
 * conversation and returns the new one. The same input gives the same output.
 * @example
 * const assistant = new Assistant({ domain, flows, generator })
 * const { messages, tracker } = await assistant.handle({ senderId: 'ada', tracker: undefined, text: 'hi' })
 */
export class Assistant implements AsyncDisposable {
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  readonly #options: AssistantOptions;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #logger: Logger;
  readonly #responder: Responder;
  readonly #reading: ReadOptions;
  /** Actions that run with every message because slots are mapped to them. */
  readonly #actionsOfEveryTurn: ReadonlySet<string>;
  /** Whether the project's domain has the routing slot. */
  readonly #isRouted: boolean;
  /** Turns in flight, and holds. */
  readonly #turns = new Set<Promise<unknown>>();
  #closed: Promise<unknown> | undefined;

  constructor(options: AssistantOptions) {
    this.domain = options.domain;
    this.flows = options.flows;
    this.#options = options;
    this.#clock = options.clock ?? { now: () => Date.now() };
    this.#newId = options.newId ?? randomUUID;
    this.#logger = options.logger ?? defaultLogger;
    this.#reading = {
      generator: options.generator,
      maxCharacters: options.maxCharacters ?? 420,
      clarifyOnMultipleStartFlows: options.clarifyOnMultipleStartFlows ?? false,
    };
    this.#actionsOfEveryTurn = actionsOfEveryTurn(options.domain);
    const { slots } = options.domain.raw;
    this.#isRouted = isJsonObject(slots) && Object.hasOwn(slots, ROUTED);
    this.#responder = new Responder({
      domain: options.domain,
      random: options.random ?? Math.random,
      logger: this.#logger,
      ...(options.rephraser !== undefined && { rephraser: options.rephraser }),
      ...(options.writer !== undefined && { writer: options.writer }),
    });
  }

  /**
   * Runs a turn. Failures of actions, agents and generators become part of the conversation. Throws if the
   * turn is aborted, or if the tracker has an unknown format.
   */
  handle(request: TurnRequest): Promise<TurnResult> {
    return this.#during(() => this.#handle(request));
  }

  async #handle(request: TurnRequest): Promise<TurnResult> {
    const dialogue = this.#dialogue(request);
    const { tracker } = dialogue;
    if (tracker.state.terminated) return result(dialogue);
    await ensureSession(dialogue, { isNew: request.tracker === undefined });
    if (tracker.state.paused) {
      this.#recordMessage(dialogue, request, { commands: [], isPayload: false });
      return result(dialogue);
    }
    const isChanged = stackProblems(tracker.stack, this.flows).length > 0;
    if (isChanged) await this.#changeCode(dialogue);
    const { text, metadata = {}, slots = {} } = request;
    const understood = await dialogue.journal.once<Understanding>({
      name: 'understanding',
      schema: z.custom<Understanding>(isJsonObject),
      isRepeatable: () => true,
      run: () =>
        understanding(request.channel ?? 'rest', () =>
          readMessage(dialogue, { text, metadata, slots }, this.#reading),
        ),
    });
    this.#recordMessage(dialogue, request, understood);
    // Flows handle every message. A project with a router expects the slot to be true.
    if (this.#isRouted && tracker.slot(ROUTED) === null) tracker.apply(slotSet(ROUTED, true));
    // `pattern_code_change` has already answered a message that the new flows can't handle.
    const isAnswered = (command: Command): boolean =>
      isChanged && command.command === 'cannot handle';
    executeCommands(
      dialogue,
      understood.commands.filter((command) => !isAnswered(command)),
    );
    dialogue.facts.understoodAt = this.#clock.now();
    for (const action of this.#actionsOfEveryTurn) await runEveryTurn(dialogue, action);
    await run(dialogue);
    await cancelAgents(dialogue, abandonedAgents(dialogue));
    countFlowEvents(tracker.events);
    return result(dialogue);
  }

  /** Starts the session of a conversation before its first message. */
  async start(request: Omit<TurnRequest, 'tracker' | 'text'>): Promise<TurnResult> {
    const dialogue = this.#dialogue({ ...request, tracker: undefined, text: '' });
    await ensureSession(dialogue, { isNew: true });
    return result(dialogue);
  }

  /** Cancels every flow of a conversation without a message, after its caller cancelled the task. */
  abandon(request: Pick<TurnRequest, 'senderId' | 'tracker' | 'signal'>): Promise<TurnResult> {
    return this.#during(async () => {
      const dialogue = this.#dialogue({ ...request, text: '' });
      await clearStack(dialogue);
      dialogue.tracker.logStack();
      return result(dialogue);
    });
  }

  /**
   * Applies external events, such as a slot set through the HTTP API. External events can't change the
   * stack. `rewind` and `undo` need the `history` of the conversation.
   */
  async record(
    request: Pick<TurnRequest, 'senderId' | 'userId' | 'tracker' | 'history'>,
    events: readonly EventDraft[],
  ): Promise<TurnResult> {
    const dialogue = this.#dialogue({ ...request, text: '' });
    if (dialogue.tracker.state.terminated) {
      throw new LegateError(
        'UNSUPPORTED_OPERATION',
        `conversation ${request.senderId} has ended; start another one`,
      );
    }
    await applyEvents(dialogue, events, { except: new Set(['stack']), isTyped: true });
    return this.#recorded(dialogue);
  }

  /** Rebuilds a conversation from the events of another one. Executes nothing. */
  copy(senderId: string, events: readonly TrackerEvent[]): Pick<TurnResult, 'tracker' | 'events'> {
    const { session_id: sessionId } = objectOf(events.at(-1) ?? {}, 'metadata');
    const tracker = Tracker.rebuild(
      { senderId, sessionId: typeof sessionId === 'string' ? sessionId : this.#newId() },
      events,
      { domain: this.domain, clock: this.#clock },
    );
    return { tracker: tracker.save().value, events };
  }

  /** When the conversation becomes inactive without further events, in milliseconds since 1970. */
  inactiveAt(tracker: JsonObject): number {
    return expiryOf(loadState(tracker), this.domain);
  }

  /**
   * Records that a conversation is inactive (`conversation_inactive`), for its timer. Returns undefined if
   * the user sent a message in the meantime, or if the conversation has another timer.
   */
  recordInactivity(
    request: Pick<TurnRequest, 'senderId' | 'tracker'>,
    timer: string,
  ): TurnResult | undefined {
    if (request.tracker === undefined) return undefined;
    const dialogue = this.#dialogue({ ...request, text: '' });
    const isDue = this.#clock.now() >= expiryOf(dialogue.tracker.state, this.domain);
    if (dialogue.tracker.state.timer !== timer || !isDue) return undefined;
    dialogue.tracker.apply(conversationInactive);
    return this.#recorded(dialogue);
  }

  /** Whether remote agents work on tasks of the conversation between turns. */
  hasBackgroundTasks(tracker: JsonObject): boolean {
    return loadState(tracker).stack.some(
      (frame) => frame.type === 'agent' && isInBackground(frame.metadata),
    );
  }

  /** Cancels the background tasks of remote agents; open questions stay. Returns the agents' names. */
  async cancelBackgroundTasks(
    request: Pick<TurnRequest, 'senderId' | 'tracker'>,
  ): Promise<TurnResult & { readonly agents: readonly string[] }> {
    const dialogue = this.#dialogue({ ...request, text: '' });
    const agents = detachBackgroundAgents(dialogue);
    await this.#during(() => cancelAgents(dialogue, agents));
    return { ...result(dialogue), agents: agents.map(({ agentId }) => agentId) };
  }

  /** The result of a command that only records events. It doesn't wait until remote agents are cancelled. */
  #recorded(dialogue: Dialogue): TurnResult {
    const { inactive } = dialogue.tracker.state;
    // The session has ended, so no turn will read the agents' results.
    const agents = [
      ...abandonedAgents(dialogue),
      ...(inactive ? detachBackgroundAgents(dialogue) : []),
    ];
    if (agents.length > 0) void this.#during(() => cancelAgents(dialogue, agents));
    return result(dialogue);
  }

  /**
   * Makes `close` wait until the returned object is disposed of, for callers that prepare a turn before
   * they call `handle`.
   */
  hold(): Disposable {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#during(() => promise);
    return { [Symbol.dispose]: resolve };
  }

  /**
   * Waits for the turns in flight and for holds, then closes the actions and the connections to agents and
   * tools. Turns that don't end within `graceMs` lose their connections. @default graceMs 600_000
   */
  async close({ graceMs = 600_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    await waitAtMost(graceMs, this.#idle());
    const { callHandlers = [], actions } = this.#options;
    const closing = [...callHandlers, ...(actions === undefined ? [] : [actions])];
    this.#closed ??= Promise.allSettled(closing.map(async (one) => one.close?.()));
    await this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Waits for turns that start in the meantime, too. */
  async #idle(): Promise<void> {
    while (this.#turns.size > 0) await Promise.allSettled(this.#turns);
  }

  async #during<T>(take: () => Promise<T>): Promise<T> {
    const turn = take();
    this.#turns.add(turn);
    try {
      return await turn;
    } finally {
      this.#turns.delete(turn);
    }
  }

  #dialogue(request: TurnRequest): Dialogue {
    const options = this.#options;
    const trackerOptions = {
      domain: this.domain,
      clock: this.#clock,
      eventMetadata: options.eventMetadata ?? {},
    };
    const { senderId, userId } = request;
    const sessionId = this.#newId();
    return new Dialogue({
      tracker:
        request.tracker === undefined
          ? Tracker.create(
              { senderId, sessionId, ...(userId !== undefined && { userId }) },
              trackerOptions,
            )
          : Tracker.load(request.tracker, trackerOptions),
      domain: this.domain,
      flows: this.flows,
      responder: this.#responder,
      actions: options.actions ?? noActions,
      callHandlers: options.callHandlers ?? [],
      agentDescriptions: options.agentDescriptions ?? new Map(),
      knowledge: options.knowledge,
      channel: request.channel ?? 'rest',
      userMessage: request.text,
      metadata: request.metadata ?? {},
      maxSteps: options.maxSteps ?? 1000,
      onMessage: request.onMessage ?? (() => {}),
      onChunk: request.onChunk ?? (() => {}),
      isStreamed: request.onChunk !== undefined,
      onStep: request.onStep ?? (() => {}),
      history: request.history ?? (request.tracker === undefined ? noHistory : undefined),
      newId: this.#newId,
      journal: request.journal,
      signal: request.signal ?? new AbortController().signal,
      clock: this.#clock,
      logger: this.#logger,
    });
  }

  /**
   * Clears the stack after the flows changed since the last turn, and runs `pattern_code_change`. Slots keep
   * their values, so that the user doesn't have to repeat them.
   */
  async #changeCode(dialogue: Dialogue): Promise<void> {
    const problems = stackProblems(dialogue.tracker.stack, this.flows);
    this.#logger.warn({ problems }, 'tracker.stale_stack');
    await clearStack(dialogue, { keepsSlots: true });
    executeCommands(dialogue, [{ command: 'code change' }]);
    await run(dialogue);
  }

  #recordMessage(dialogue: Dialogue, request: TurnRequest, understood: Understanding): void {
    const { commands, intent, flowsInPrompt, candidates, prompts } = understood;
    const { maxCharacters } = this.#reading;
    dialogue.tracker.apply(
      userUttered({
        // The generator never gets a message that is too long, so its whole text isn't recorded.
        text: request.text.slice(0, Math.max(maxCharacters, MAX_PAYLOAD_CHARACTERS)),
        channel: request.channel ?? 'rest',
        messageId: request.messageId ?? this.#newId(),
        metadata: request.metadata ?? {},
        commands,
        ...(intent !== undefined && { intent }),
        ...(flowsInPrompt !== undefined && { flowsInPrompt }),
        ...(candidates !== undefined && { candidates }),
        ...(prompts !== undefined && { prompts }),
      }),
    );
    const isSilence = commands.some((one) => one.command === 'user silence');
    if (!isSilence && dialogue.tracker.slot('consecutive_silence_timeouts') !== 0) {
      dialogue.tracker.apply(slotSet('consecutive_silence_timeouts', 0));
    }
  }
}

const understanding = traced({
  span: 'legate.understand',
  subject: 'legate.channel',
  label: 'channel',
});

/** The history of a new conversation. */
const noHistory = (): Promise<readonly TrackerEvent[]> => Promise.resolve([]);

function actionsOfEveryTurn(domain: Domain): ReadonlySet<string> {
  const mappings = [...domain.slots.values()].flatMap((slot) => slot.mappings);
  return new Set(
    mappings.flatMap((mapping) => {
      const action = mapping.type === 'controlled' ? mapping.run_action_every_turn : undefined;
      return action === undefined ? [] : [action];
    }),
  );
}

function result(dialogue: Dialogue): TurnResult {
  const { value, events } = dialogue.tracker.save();
  return {
    messages: dialogue.facts.messages,
    tracker: value,
    events,
    outcome: outcomeOf(dialogue),
  };
}
