import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import { extractor, type Extractor, type StackFrame, type TrackerEvent } from '../conversation.ts';
import type { Domain } from '../model.ts';
import {
  appliedEvents,
  botMessageOf,
  boundedMessage,
  type EventDraft,
  objectOf,
  textOf,
} from './events.ts';
import { loggedStack, stackLogged, trackerJson } from './json.ts';
import {
  emptyState,
  extendSpoken,
  extendTranscript,
  loadState,
  openingWith,
  type NewConversation,
  type TrackerState,
} from './state.ts';

export interface TrackerOptions {
  readonly domain: Domain;
  readonly clock: Clock;
  /** Added to every event: model id, assistant id. */
  readonly eventMetadata?: JsonObject;
}

/** Actions that end a turn; they clear the follow-up action. */
const listening: ReadonlySet<string> = new Set([
  'action_listen',
  'action_agent_request_user_input',
]);

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * A conversation during a turn: its current state, and the events of the turn.
 *
 * State changes by events, through `apply`. Only the engine changes the stack (`setStack`) and a few marks
 * directly; they are saved as a whole. `save` returns the state for the next turn and the events of this
 * one. A tracker loaded from that state continues from it.
 *
 * States: active, paused (`pause` / `resume`), inactive (`conversation_inactive`, until the next
 * message), terminated (`session_ended`, final).
 * @example
 * const tracker = Tracker.create({ senderId: 'ada', sessionId: 's1' }, { domain, clock: Date });
 * tracker.apply(slotSet('amount', 5));
 * const { value, events } = tracker.save();
 */
export class Tracker {
  readonly #domain: Domain;
  readonly #clock: Clock;
  readonly #eventMetadata: JsonObject;
  readonly #state: Mutable<TrackerState>;
  /** Every slot of the domain. */
  #slots: Record<string, JsonValue> = {};
  #filledBy: Record<string, Extractor>;
  #events: TrackerEvent[] = [];
  #stackChanged = false;

  private constructor(state: TrackerState, options: TrackerOptions) {
    this.#domain = options.domain;
    this.#clock = options.clock;
    this.#eventMetadata = options.eventMetadata ?? {};
    this.#state = { ...state };
    this.#filledBy = { ...state.filledBy };
    for (const slot of this.#domain.slots.values()) {
      const saved = Object.hasOwn(state.slots, slot.name) ? state.slots[slot.name] : undefined;
      this.#slots[slot.name] = saved ?? (saved === null ? null : slot.initialValue);
    }
  }

  static load(value: JsonObject, options: TrackerOptions): Tracker {
    return new Tracker(loadState(value), options);
  }

  static create(
    conversation: Omit<NewConversation, 'startedAt'>,
    options: TrackerOptions,
  ): Tracker {
    const startedAt = options.clock.now() / 1000;
    return new Tracker(emptyState({ ...conversation, startedAt }), options);
  }

  /** Rebuilds a conversation from its log; `events` is empty. */
  static rebuild(
    conversation: Omit<NewConversation, 'startedAt'>,
    log: readonly TrackerEvent[],
    options: TrackerOptions,
  ): Tracker {
    const tracker = Tracker.create(conversation, options);
    tracker.#replay(log);
    tracker.#state.latestEventTime = log.at(-1)?.timestamp ?? tracker.#state.latestEventTime;
    // The next frame must not get the id of an existing frame.
    const numbers = tracker.stack.map(({ frameId }) => Number(frameId.slice(1)) || 0);
    tracker.#state.frameCount = Math.max(0, ...numbers);
    return tracker;
  }

  /** The current state without slots; see `slots` and `filledBy`. */
  get state(): Omit<TrackerState, 'slots' | 'filledBy'> {
    return this.#state;
  }

  /** Every slot of the domain with its value. A live view. */
  get slots(): Readonly<Record<string, JsonValue>> {
    return this.#slots;
  }

  slot(name: string): JsonValue {
    return Object.hasOwn(this.#slots, name) ? (this.#slots[name] ?? null) : null;
  }

  filledBy(name: string): Extractor | undefined {
    return Object.hasOwn(this.#filledBy, name) ? this.#filledBy[name] : undefined;
  }

  get stack(): readonly StackFrame[] {
    return this.#state.stack;
  }

  /** Events since the tracker was loaded. */
  get events(): readonly TrackerEvent[] {
    return this.#events;
  }

  setStack(stack: readonly StackFrame[]): void {
    this.#state.stack = stack;
    this.#stackChanged = true;
  }

  newFrameId(): string {
    this.#state.frameCount += 1;
    return `F${this.#state.frameCount}`;
  }

  /** Continues the conversation under another session id; it is no longer inactive. */
  renewSession(sessionId: string): void {
    this.#state.sessionId = sessionId;
    this.#state.inactive = false;
  }

  markSurveyed(): void {
    this.#state.surveyed = true;
  }

  clearFollowup(): void {
    this.#state.followupAction = null;
  }

  /** Adds time and metadata to the event, logs it and updates the state. */
  apply(draft: EventDraft): TrackerEvent {
    const event = this.#log(draft);
    this.#update(event);
    return event;
  }

  /**
   * Applies a `rewind` or an `undo`: rebuilds the state from the log without the undone events. `former` are
   * the events before those of this tracker, at least since the session started. Session, timer and frame ids
   * are not undone.
   */
  undo(draft: EventDraft, former: readonly TrackerEvent[]): void {
    this.#log(draft);
    const { senderId, startedAt } = this.#state;
    const { userId, sessionId, frameCount, latestEventTime, activeAt, timer, surveyed } =
      this.#state;
    Object.assign(this.#state, emptyState({ senderId, sessionId, startedAt }));
    this.#resetSlots();
    this.#replay([...former, ...this.#events]);
    const kept = { userId, sessionId, frameCount, latestEventTime, activeAt, timer, surveyed };
    Object.assign(this.#state, kept, { inactive: false });
  }

  /** Logs the stack if it changed, as a patch that replaces the whole stack. */
  logStack(): void {
    if (!this.#stackChanged) return;
    this.#stackChanged = false;
    this.#log(stackLogged(this.#state.stack));
  }

  save(): { readonly value: JsonObject; readonly events: readonly TrackerEvent[] } {
    const slots: Record<string, JsonValue> = {};
    for (const slot of this.#domain.slots.values()) {
      const value = this.slot(slot.name);
      if (value !== slot.initialValue) slots[slot.name] = value;
    }
    const value = { ...this.#state, slots, filledBy: { ...this.#filledBy } };
    return { value, events: [...this.#events] };
  }

  /** Logs an event with the current time. */
  #log(draft: EventDraft): TrackerEvent {
    const { timestamp } = draft;
    const event: TrackerEvent = {
      ...draft,
      timestamp: typeof timestamp === 'number' ? timestamp : this.#clock.now() / 1000,
      metadata: {
        session_id: this.#state.sessionId,
        ...this.#eventMetadata,
        ...objectOf(draft, 'metadata'),
      },
    };
    this.#events.push(event);
    this.#state.latestEventTime = event.timestamp;
    if (event.event !== 'conversation_inactive') this.#state.activeAt = this.#clock.now() / 1000;
    return event;
  }

  /** Applies the effective events of a log. */
  #replay(log: readonly TrackerEvent[]): void {
    for (const event of appliedEvents(log)) this.#update(event);
    this.#stackChanged = false;
  }

  #update(event: TrackerEvent): void {
    const state = this.#state;
    switch (event.event) {
      case 'user':
        return this.#recordUserMessage(event);
      case 'bot':
        return this.#recordBotMessage(event);
      case 'action':
        state.latestAction = textOf(event, 'name');
        if (listening.has(state.latestAction)) state.followupAction = null;
        return;
      case 'stack':
        state.stack = loggedStack(event);
        return;
      case 'slot':
        return this.#setSlot(event);
      case 'reset_slots':
        return this.#resetSlots();
      case 'session_started':
      case 'restart':
        return this.#resetSession(event);
      case 'session_ended':
        state.terminated = true;
        state.timer = null;
        return;
      case 'conversation_inactive':
        state.inactive = true;
        state.timer = null;
        return;
      case 'pause':
      case 'resume':
        state.paused = event.event === 'pause';
        return;
      case 'followup':
        state.followupAction = typeof event['name'] === 'string' ? event['name'] : null;
        return;
      case 'agent_completed':
      case 'agent_cancelled':
        state.agents = [...new Set([...state.agents, textOf(event, 'agent_id')])].slice(-100);
        return;
      default:
      // Other events don't change the state.
    }
  }

  #recordUserMessage(event: TrackerEvent): void {
    const state = this.#state;
    const text = textOf(event, 'text');
    state.latestMessage = boundedMessage(event['parse_data'], text);
    if (typeof event['input_channel'] === 'string') {
      state.latestInputChannel = event['input_channel'];
    }
    state.opening = openingWith(state.opening, text);
    state.transcript = extendTranscript(state.transcript, { speaker: 'user', text });
    state.heard = true;
    state.inactive = false;
  }

  #recordBotMessage(event: TrackerEvent): void {
    const message = botMessageOf(event);
    const agentId = objectOf(event, 'metadata')['agent_id'];
    const text = message.text ?? '';
    this.#state.spoken = extendSpoken(this.#state.heard ? [] : this.#state.spoken, message);
    this.#state.heard = false;
    if (text === '' && message.buttons === undefined) return;
    this.#state.transcript = extendTranscript(this.#state.transcript, {
      speaker: typeof agentId === 'string' ? 'agent' : 'bot',
      text,
      ...(message.buttons !== undefined && { buttons: message.buttons }),
      ...(typeof agentId === 'string' && { agentId }),
    });
  }

  #setSlot(event: TrackerEvent): void {
    const name = textOf(event, 'name');
    if (!this.#domain.slots.has(name)) return;
    this.#slots[name] = event['value'] ?? null;
    const { data: filledBy } = extractor.safeParse(event['filled_by']);
    if (filledBy !== undefined) this.#filledBy[name] = filledBy;
    else delete this.#filledBy[name];
  }

  #resetSlots(): void {
    for (const slot of this.#domain.slots.values()) this.#slots[slot.name] = slot.initialValue;
    this.#filledBy = {};
  }

  #resetSession(event: TrackerEvent): void {
    const sessionId = objectOf(event, 'metadata')['session_id'];
    const state = this.#state;
    if (typeof sessionId === 'string') state.sessionId = sessionId;
    state.followupAction = null;
    state.paused = false;
    state.inactive = false;
    state.surveyed = false;
    state.agents = [];
    state.transcript = [];
    state.spoken = [];
    this.#resetSlots();
    this.setStack([]);
  }
}

/**
 * The tracker as of a time in seconds since 1970, rebuilt from the events up to then.
 * @example
 * const aMinuteAgo = Date.now() / 1000 - 60;
 * const { slots, stack } = formerTrackerJson(tracker, events, assistant.domain, aMinuteAgo);
 */
export function formerTrackerJson(
  value: JsonObject,
  events: readonly TrackerEvent[],
  domain: Domain,
  until: number,
): JsonObject {
  const { senderId, userId, sessionId, startedAt } = loadState(value);
  const former = events.filter(({ timestamp }) => timestamp <= until);
  const tracker = Tracker.rebuild(
    { senderId, sessionId, ...(userId !== null && { userId }) },
    former,
    { domain, clock: { now: () => startedAt * 1000 } },
  );
  const session = objectOf(former.at(-1) ?? {}, 'metadata')['session_id'];
  return {
    ...trackerJson(tracker.save().value, former, domain),
    current_session_id: session ?? sessionId,
  };
}
