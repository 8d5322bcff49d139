import type { Clock, Journal } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { ActionRunner, StreamPiece, TurnContext } from '../actions/runner.ts';
import type {
  BotMessage,
  FlowFrame,
  PatternFrame,
  StackFrame,
  TrackerEvent,
} from '../conversation.ts';
import { compileCondition } from '../conditions/condition.ts';
import { type Domain, type Flow, START, type Step } from '../model.ts';
import { promptJson, type PromptNote } from '../prompt-note.ts';
import type { Knowledge } from '../search/knowledge.ts';
import type { Responder } from '../responses/responder.ts';
import { activeSegment, isInner, replaceFrame, withoutPattern } from '../stack/stack.ts';
import { topicOfFlow } from '../small-talk/small-talk.ts';
import { botUttered, objectOf } from '../tracker/events.ts';
import { trackerJson } from '../tracker/json.ts';
import type { Tracker } from '../tracker/tracker.ts';
import type { WaitingAgent } from './agents.ts';
import type { CallHandler } from './call-handler.ts';
import { FlowSpans } from './flow-spans.ts';
import { TurnJournal } from './turn-journal.ts';

/** The last events before this turn, oldest first. */
export type History = (options: { readonly last: number }) => Promise<readonly TrackerEvent[]>;

/** The options of a turn; the same for all of its steps. */
export interface DialogueOptions {
  readonly tracker: Tracker;
  readonly domain: Domain;
  /** User flows and patterns. */
  readonly flows: ReadonlyMap<string, Flow>;
  readonly responder: Responder;
  readonly actions: ActionRunner;
  readonly callHandlers: readonly CallHandler[];
  readonly agentDescriptions: ReadonlyMap<string, string>;
  /** Undefined for a project without documents. */
  readonly knowledge: Knowledge | undefined;
  readonly channel: string;
  readonly userMessage: string;
  /** Metadata of the user message. */
  readonly metadata: JsonObject;
  /** Maximum number of steps in one turn. */
  readonly maxSteps: number;
  readonly onMessage: (message: BotMessage) => void | Promise<void>;
  readonly onChunk: (piece: StreamPiece) => void | Promise<void>;
  /** Whether the channel streams chunks. @default false */
  readonly isStreamed?: boolean;
  readonly onStep: (flowId: string, stepId: string) => void;
  /** Undefined if the caller keeps no log of the conversation. */
  readonly history: History | undefined;
  readonly newId: () => string;
  /** The journal of a turn that can run again after its process died. */
  readonly journal?: Journal | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Limits of the prompts logged per turn: their number, and the characters of each. */
const MAX_PROMPTS = 8;
const MAX_PROMPT = 8_000;

/** Number of earlier events in tracker JSON: the cost of a turn must not grow with the log. */
const FORMER_EVENTS = 200;

/** Facts about a turn that the stack doesn't show afterwards. */
export interface TurnFacts {
  readonly messages: BotMessage[];
  /** Patterns that were pushed on the stack. */
  readonly patterns: { readonly flowId: string; readonly context: JsonObject }[];
  /** Slots that the user's message filled. */
  readonly filled: Set<string>;
  /** Steps taken. */
  steps: number;
  /** When the turn started, in milliseconds. */
  readonly startedAt: number;
  /** When the commands of the message were known, in milliseconds; undefined before. */
  understoodAt: number | undefined;
  /** A session started in this turn. */
  sessionStarted: boolean;
  /** The user's message is meant for the agent that waits. */
  forAgent: boolean;
  /** The stack at the start of the turn. */
  readonly initialStack: readonly StackFrame[];
  /** Notes of models called since the message was understood, as logged. */
  readonly prompts: JsonObject[];
  /** Abandoned agents whose calls are not cancelled yet. */
  readonly abandoned: WaitingAgent[];
  /** The stack after a `rewind`. While it is unchanged, the turn waits for the user. */
  rewoundTo: readonly StackFrame[] | undefined;
}

/** A turn in flight: the tracker, the project, and the operations that all steps share. */
export class Dialogue {
  readonly options: DialogueOptions;
  readonly tracker: Tracker;
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  readonly facts: TurnFacts;
  readonly spans = new FlowSpans();
  readonly journal: TurnJournal;

  constructor(options: DialogueOptions) {
    this.options = options;
    this.tracker = options.tracker;
    this.domain = options.domain;
    this.flows = options.flows;
    this.journal = new TurnJournal(options.journal, options.signal);
    this.facts = {
      messages: [],
      patterns: [],
      filled: new Set(),
      steps: 0,
      startedAt: options.clock.now(),
      understoodAt: undefined,
      sessionStarted: false,
      forAgent: false,
      initialStack: options.tracker.stack,
      prompts: [],
      abandoned: [],
      rewoundTo: undefined,
    };
  }

  get top(): StackFrame | undefined {
    return this.tracker.stack.at(-1);
  }

  stepOf(frame: StackFrame): Step | undefined {
    return this.flows.get(frame.flowId)?.steps.get(frame.stepId);
  }

  /** A condition that can't be evaluated is false. `known` overrides the current slots. */
  holds(condition: string, frame?: StackFrame, known?: JsonObject): boolean {
    try {
      const context = frame === undefined ? {} : contextOf(frame);
      const { slots } = this.tracker;
      const scope = { slots: known === undefined ? slots : { ...slots, ...known }, context };
      return compileCondition(condition).evaluate(scope);
    } catch (error) {
      this.options.logger.warn({ condition, flow: frame?.flowId, error }, 'condition.invalid');
      return false;
    }
  }

  /**
   * The frames of a position in a chain of calls. `path` has one step id per flow. Returns undefined
   * if the current flows have no such position.
   */
  framesAt(root: FlowFrame, path: readonly string[]): readonly FlowFrame[] | undefined {
    const frames: FlowFrame[] = [];
    let flowId: string | undefined = root.flowId;
    for (const stepId of path) {
      const step: Step | undefined = this.flows.get(flowId ?? '')?.steps.get(stepId);
      if (flowId === undefined || step === undefined) return undefined;
      const frameId = frames.length === 0 ? root.frameId : this.tracker.newFrameId();
      frames.push(
        frames.length === 0
          ? { ...root, stepId }
          : { type: 'flow', frameId, flowId, stepId, frameType: 'call' },
      );
      flowId = step.kind === 'call' ? step.target : undefined;
    }
    return frames.length === 0 ? undefined : frames;
  }

  get context(): TurnContext {
    const { channel, signal, clock, logger } = this.options;
    const { state, slots } = this.tracker;
    const tracker = () => this.fullTracker();
    return {
      senderId: state.senderId,
      slots,
      tracker,
      domain: this.domain,
      channel,
      signal,
      clock,
      logger,
    };
  }

  /** Tracker JSON for action and NLG servers, with the events of this turn and some earlier ones. */
  async fullTracker(): Promise<JsonObject> {
    const { value, events } = this.tracker.save();
    const former = (await this.options.history?.({ last: FORMER_EVENTS })) ?? [];
    return trackerJson(value, [...former, ...events].map(withoutPrompts), this.domain);
  }

  push(frame: StackFrame): void {
    this.tracker.setStack([...this.tracker.stack, frame]);
  }

  /** Pushes a flow at its start. */
  pushFlow(flowId: string, frameType: FlowFrame['frameType']): void {
    const frameId = this.tracker.newFrameId();
    this.push({ type: 'flow', frameId, flowId, stepId: START, frameType });
  }

  /** Pushes a pattern; it replaces an older frame of the same pattern. */
  pushPattern(flowId: string, context: JsonObject = {}): void {
    const { tracker } = this;
    const frameId = tracker.newFrameId();
    const frame: PatternFrame = { type: 'pattern', frameId, flowId, stepId: START, context };
    this.facts.patterns.push({ flowId, context });
    const below = isInner(frame) ? tracker.stack : withoutPattern(tracker.stack, flowId);
    tracker.setStack([...below, frame]);
  }

  replace(frame: StackFrame): void {
    this.tracker.setStack(replaceFrame(this.tracker.stack, frame));
  }

  pop(): void {
    this.tracker.setStack(this.tracker.stack.slice(0, -1));
  }

  /** Records a model call for the event at the end of the turn, at most `MAX_PROMPTS` of them. */
  notePrompt(note: PromptNote): void {
    const { prompts } = this.facts;
    if (prompts.length < MAX_PROMPTS) prompts.push(promptJson(note, MAX_PROMPT));
  }

  /** Records a message and sends it to the user. */
  async say(message: BotMessage, origin: JsonObject = {}): Promise<void> {
    this.tracker.apply(botUttered(message, origin));
    this.facts.messages.push(message);
    await this.options.onMessage(message);
  }

  /** Renders a response of the domain as a message. */
  async write(name: string, context: JsonObject, values: JsonObject = {}): Promise<BotMessage> {
    const { responder, channel, signal } = this.options;
    const { slots, state } = this.tracker;
    const { transcript } = state;
    const message = await responder.respond({
      name,
      channel,
      slots,
      context,
      values: { ...offerValues(this, name), ...values },
      transcript,
      tracker: () => this.fullTracker(),
      signal,
      noting: { onPrompt: (note) => this.notePrompt(note), clock: this.options.clock },
    });
    if (name === CANNOT_HANDLE || !isPlaceholder(message)) return withOffers(this, message);
    this.options.logger.warn({ response: name }, 'response.placeholder');
    const topic = context['utter'];
    // A pattern that sends its topic itself has no other text.
    const isOther = typeof topic === 'string' && topic !== name && responder.has(topic);
    const instead = isOther ? topic : CANNOT_HANDLE;
    const written = await this.write(instead, context, values);
    return { ...written, metadata: { ...written.metadata, utter_action: name } };
  }

  async respond(name: string, context: JsonObject, values: JsonObject = {}): Promise<void> {
    await this.say(await this.write(name, context, values));
  }
}

const CANNOT_HANDLE = 'utter_cannot_handle';

/** Whether the text is a placeholder that no model replaced. Rasa's examples write "placeholder". */
function isPlaceholder({ text = '', metadata }: BotMessage): boolean {
  const isReworded = metadata?.['utter_source'] !== undefined;
  return metadata?.['rephrase'] === true && !isReworded && /placeholder/i.test(text);
}

/** The value of `context` in conditions and templates. */
export function contextOf(frame: StackFrame): JsonObject {
  if (frame.type === 'pattern') return frame.context;
  return { flow_id: frame.flowId, step_id: frame.stepId };
}

/** Removes prompts: they are large and for operators only. */
function withoutPrompts(event: TrackerEvent): TrackerEvent {
  for (const field of ['parse_data', 'metadata'] as const) {
    const holder = objectOf(event, field);
    if (holder['prompts'] === undefined) continue;
    const { prompts: _prompts, ...rest } = holder;
    return { ...event, [field]: rest };
  }
  return event;
}

/** A step failed. The error pattern gets `type`, `info` and `context`; only the log gets the message. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
  readonly type: string;
  readonly info: JsonObject;
  /** Further context of the error pattern. */
  readonly context: JsonObject;

  constructor(
    type: string,
    message: string,
    info: JsonObject = {},
    about: { readonly cause?: unknown; readonly context?: JsonObject } = {},
  ) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.type = type;
    this.info = info;
    this.context = about.context ?? {};
  }
}

/** The turn exceeded `maxSteps`: probably a flow loops. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}

/**
 * The key in a response's metadata that offers flows as buttons. The value is their number (in the order
 * of the files), their ids, or `context`: the `flow_ids` of the running pattern.
 */
const OFFER_FLOWS = 'offer_flows';

/** Maximum number of names in `offered_flows`; "more" replaces the rest. */
const mostNamed = 4;
/** Maximum number of flows in `flows` of a template. */
const mostListed = 20;

const conjunction = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** User flows whose guards hold. `known` are slots that this message is about to set. */
export function startableFlows(dialogue: Dialogue, known?: JsonObject): readonly Flow[] {
  return [...dialogue.flows.values()].filter(
    (flow) =>
      !flow.isPattern && (flow.if === undefined || dialogue.holds(flow.if, undefined, known)),
  );
}

/** Values about flows for the templates of a response; empty unless one of its variations offers flows. */
export function offerValues(dialogue: Dialogue, response: string): JsonObject {
  const variations = dialogue.domain.responses.get(response) ?? [];
  const wanted = variations.find(({ metadata }) => metadata?.[OFFER_FLOWS] !== undefined);
  if (wanted === undefined) return {};
  const active = activeSegment(dialogue.tracker.stack);
  const flows = inOrder(startableFlows(dialogue), wanted.metadata?.[OFFER_FLOWS]);
  const names = flows.map(({ id }) => readableName(dialogue, id));
  const named = names.length > mostNamed + 1 ? [...names.slice(0, mostNamed), 'more'] : names;
  return {
    flows: flows
      .slice(0, mostListed)
      .map(({ description }, at) => ({ name: titleOf(names[at] ?? ''), description })),
    // In a flow, the next question matters more than other flows.
    offered_flows: active === undefined ? conjunction.format(named) : '',
    active_flow: active === undefined ? null : readableName(dialogue, active.root.flowId),
  };
}

/** Adds a button for each flow that the message offers. Adds none while a flow is active. */
export function withOffers(dialogue: Dialogue, message: BotMessage): BotMessage {
  const given = message.metadata?.[OFFER_FLOWS];
  const isAbout = given === 'context';
  const wanted = isAbout ? contextFlows(dialogue) : given;
  const isBusy = activeSegment(dialogue.tracker.stack) !== undefined;
  if (wanted === undefined || message.buttons !== undefined || (isBusy && !isAbout)) return message;
  const count = Array.isArray(wanted) ? wanted.length : Number(wanted);
  const buttons = inOrder(startableFlows(dialogue), wanted)
    .slice(0, count)
    .map((flow) => {
      const name = readableName(dialogue, flow.id);
      // The first example is a message that starts the flow.
      return { title: titleOf(name), payload: flow.examples[0] ?? name };
    });
  return buttons.length === 0 ? message : { ...message, buttons };
}

/** The `flow_ids` of the running pattern; without any, the number of flows to offer. */
function contextFlows({ top }: Dialogue): JsonValue {
  const ids = top?.type === 'pattern' ? top.context['flow_ids'] : undefined;
  return Array.isArray(ids) && ids.length > 0 ? ids : mostNamed;
}

/** Flows with the ones that a response names first. */
function inOrder(flows: readonly Flow[], wanted: JsonValue | undefined): readonly Flow[] {
  if (!Array.isArray(wanted)) {
    // Small-talk flows are offered only if there are no others.
    const offered = flows.filter((flow) => topicOfFlow(flow) === undefined);
    return offered.length === 0 ? flows : offered;
  }
  const named = wanted.flatMap((id) => flows.find((flow) => flow.id === id) ?? []);
  return [...new Set([...named, ...flows])];
}

function titleOf(name: string): string {
  return name.charAt(0).toLocaleUpperCase() + name.slice(1);
}

/** The name of a flow for users, in the user's language if the flow has a translation. */
export function readableName(dialogue: Dialogue, flowId: string): string {
  const flow = dialogue.flows.get(flowId);
  if (flow === undefined) return flowId.replaceAll('_', ' ');
  return translatedName(flow, dialogue.tracker.slot('language')) ?? flow.name;
}

function translatedName(flow: Flow, language: unknown): string | undefined {
  if (typeof language !== 'string' || flow.translation === undefined) return undefined;
  return Object.hasOwn(flow.translation, language) ? flow.translation[language]?.name : undefined;
}
