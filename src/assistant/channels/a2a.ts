import {
  type Agent,
  chunk,
  type EndKind,
  EventChannel,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import {
  type AgentSkill,
  data,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Message,
  type Part,
  text,
} from '../../protocol/index.ts';
import { TurnStopped } from '../../tasks/index.ts';
import { until } from '../../time/index.ts';
import type { Assistant, TurnRequest } from '../assistant.ts';
import type { BotMessage } from '../conversation.ts';
import type { TurnOutcome, TurnResult } from '../turn-result.ts';
import { skillsOf } from './a2a-server.ts';
import {
  conversationCommands,
  type InactivityTimerFactory,
  saved,
  speakerOf,
} from './conversations.ts';

/**
 * How an assistant is exposed as an A2A agent.
 * @example
 * const options: AssistantAgentOptions = {
 *   assistant: () => current, // another one after each reload
 *   name: 'bank', description: 'Looks after accounts, cards and transfers.',
 * };
 */
export interface AssistantAgentOptions {
  /** The current assistant: undefined until a model is loaded, another one after a reload. */
  readonly assistant: () => Assistant | undefined;
  /** @default 'Rasa Agent' */
  readonly name?: string;
  /** Its name in metrics and traces. @default the name */
  readonly label?: string;
  readonly description: string;
  /** @default true */
  readonly includeConversationRepair?: boolean;
  /**
   * How to handle a turn whose process died: the turn fails, or runs again with its journal.
   * @default 'fail'
   */
  readonly onInterrupted?: 'fail' | 'run-again';
  /**
   * Settles when the first model is loaded or has failed to load. Turns that were taken over from a dead
   * process wait for it. @default turns don't wait
   */
  readonly started?: Promise<unknown>;
  /** Timers that record inactivity. @default none: inactivity is only recorded with the next message */
  readonly timers?: InactivityTimerFactory;
}

/**
 * Exposes an assistant as an agent: each context is a conversation, each message is a turn. The transaction
 * that ends a turn also saves the tracker, so a conversation and its tasks are always consistent. Messages
 * of A2A callers become tasks; channels use the agent's commands.
 * @example serve(assistantAgent({ assistant: () => assistant, description: 'Looks after accounts.' }))
 */
export function assistantAgent(options: AssistantAgentOptions): Agent {
  const { timers, includeConversationRepair = true } = options;
  const repair = { includeConversationRepair };
  const canceled = async (assistant: Assistant, turn: Turn, signal?: AbortSignal) => {
    const tracker = await turn.state.load();
    const { contextId: senderId } = turn;
    const request = { senderId, tracker, ...(signal !== undefined && { signal }) };
    const result = await assistant.abandon(request);
    const parts = partsOf('canceled', result.outcome, []);
    // If the first turn was cancelled, there is no conversation to save.
    if (tracker === undefined) return { parts };
    return { parts, context: saved(assistant, turn, result, timers) };
  };
  return {
    name: options.name ?? 'Rasa Agent',
    ...(options.label !== undefined && { label: options.label }),
    description: options.description,
    get skills(): readonly AgentSkill[] {
      const assistant = options.assistant();
      return assistant === undefined ? [] : skillsOf(assistant.flows, repair);
    },
    supersedes: true,
    onInterrupted: options.onInterrupted ?? 'fail',
    commands: conversationCommands({ assistant: options.assistant, timers }),
    async *take(turn) {
      // A new process takes over interrupted turns before its model is loaded.
      if (turn.attempt > 1) await until(options.started ?? Promise.resolve(), turn.signal);
      const assistant = options.assistant();
      if (assistant === undefined) {
        turn.logger.warn({}, 'a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready');
        yield failure('agent_not_ready', 'Agent is not ready to handle messages.');
        return;
      }
      // A reload must not close the assistant before the turn has ended.
      using _ = assistant.hold();
      yield working();
      try {
        const { result, isOver } = yield* runTurn(assistant, turn);
        if (isOver)
          yield failure('session_ended', 'This conversation has ended. Start another one.');
        else yield { ...endOf(result, repair), context: saved(assistant, turn, result, timers) };
      } catch (error) {
        if (!wasCancelled(turn)) throw error;
        // Cancelling a turn cancels its flows; a turn that is aborted for another reason keeps them.
        yield { kind: 'canceled', ...(await canceled(assistant, turn)) };
      }
    },
    async abandon(turn) {
      const assistant = options.assistant();
      if (assistant === undefined) return undefined;
      using _ = assistant.hold();
      return await canceled(assistant, turn, turn.signal);
    },
  };
}

/** Runs a turn: yields streamed chunks and returns the final status. */
async function* runTurn(
  assistant: Assistant,
  turn: Turn,
): AsyncGenerator<TurnEvent, { readonly result: TurnResult; readonly isOver: boolean }> {
  const { messageId, metadata = {} } = turn.message;
  const channel = turn.caller.method === 'inspector' ? 'inspector' : 'a2a';
  const speaker = await speakerOf(turn, { messageId, metadata, channel });
  const shown = new EventChannel<TurnEvent>();
  /** Artifact ids by stream id. */
  const started = new Map<string, string>();
  const handled = assistant.handle({
    ...speaker,
    journal: turn.journal,
    ...readSeeds(turn.message, turn.metadata),
    onChunk: async (piece) => {
      // The end of a stream has no text; the final status, which has the whole text, ends the artifact.
      if (piece.kind !== 'chunk' || piece.text === '') return;
      const known = started.get(piece.streamId);
      // A rerun of the turn uses the same stream ids again, so that it replaces incomplete artifacts.
      const id = known ?? `stream-${turn.message.messageId}-${started.size + 1}`;
      started.set(piece.streamId, id);
      await shown.push(chunk(id, piece.text, { append: known !== undefined }));
    },
    // Orchestrators get messages with the final status, except progress messages of agents and tools.
    onMessage: async (message) => {
      const isStreamed = message.metadata?.['streamed'] === true;
      if (isIntermediate(message) && !isStreamed) await shown.push(working([messagePart(message)]));
    },
  });
  const result = yield* shown.during(handled);
  const { outcome, events } = result;
  const isOver = outcome.ended && events.length === 0 && speaker.tracker !== undefined;
  return { result, isOver };
}

function isIntermediate({ metadata }: BotMessage): boolean {
  return metadata?.['intermediate'] === true;
}

function endOf(
  { outcome, messages }: TurnResult,
  repair: { readonly includeConversationRepair: boolean },
): TurnEnd {
  const kind = stateOf(outcome, repair);
  const sent = messages.filter((message) => !isIntermediate(message));
  return { kind, parts: partsOf(kind, outcome, sent) };
}

function wasCancelled({ signal }: Turn): boolean {
  const { reason } = signal as { readonly reason: unknown };
  const cause = reason instanceof TurnStopped ? reason.stopCause : undefined;
  return cause === 'cancel' || cause === 'timeout';
}

function failure(errorType: string, words: string): TurnEnd {
  return {
    kind: 'failed',
    parts: [data({ state: 'failed', error_type: errorType, error_info: {} }), text(words)],
  };
}

/**
 * The parts for an orchestrator: the state of the conversation as data, then the messages to the user.
 * The stack, prompts and the tracker stay internal.
 */
export function partsOf(
  kind: EndKind,
  outcome: TurnOutcome,
  messages: readonly BotMessage[],
): readonly Part[] {
  return [data(stateData(kind, outcome)), ...messages.map(messagePart)];
}

function stateData(kind: EndKind, outcome: TurnOutcome): JsonObject {
  return {
    state: kind.replace('-', '_'),
    active_flow: outcome.activeFlow ?? null,
    slots: outcome.slots,
    ...(kind === 'completed' && { persisted_slots: outcome.persistedSlots }),
    ...(kind === 'rejected' && { reason: outcome.cannotHandle ?? 'default' }),
    ...(kind === 'failed' && {
      error_type: outcome.error?.type ?? 'internal',
      error_info: outcome.error?.info ?? {},
    }),
    ...(kind === 'canceled' && {
      canceled_flows: outcome.cancelledFlows.map(({ flowId }) => flowId),
    }),
  };
}

/** A message as a part. The metadata has everything except its text, for channels that can show it. */
export function messagePart(message: BotMessage): Part {
  const { text: words, metadata: about, ...rest } = message;
  // The rest of the metadata is internal.
  const streamed = about?.['streamed'] === true && { metadata: { streamed: true } };
  const extras = { ...rest, ...streamed } as { readonly [key: string]: JsonValue };
  const metadata = Object.keys(extras).length === 0 ? undefined : { message: extras };
  if (words === undefined) return data({ message: extras });
  return metadata === undefined ? text(words) : text(words, { metadata });
}

/**
 * Maps the outcome of a turn to an A2A task state. The first rule that matches decides. Rasa's first rule,
 * `auth_required`, is part of authentication: a caller without a valid token never gets here.
 *
 * A flow on the stack can always take input. Therefore, the state is input-required after a request that
 * was not understood, and after a failure that did not end the flow.
 */
export function stateOf(
  outcome: TurnOutcome,
  options: { readonly includeConversationRepair: boolean },
): EndKind {
  const hasFlow = outcome.userFlows.length > 0;
  const asks = outcome.patterns.length > 0;
  const wasCancelled = outcome.raised.some(({ flowId }) => cancelling.has(flowId));
  const hasCompleted = outcome.completedFlows.length > 0;
  const rules: readonly (readonly [holds: boolean, state: EndKind])[] = [
    [outcome.cannotHandle !== undefined && !hasFlow && !asks && !hasCompleted, 'rejected'],
    [outcome.error !== undefined && !hasFlow, 'failed'],
    [wasCancelled && !hasFlow && !hasCompleted, 'canceled'],
    [hasCompleted && !hasFlow, 'completed'],
    [asks && !hasFlow && options.includeConversationRepair && outcome.waiting, 'input-required'],
    [asks && !hasFlow, 'completed'],
    // A welcome message asks no question, so its task is not input-required.
    [isWelcome(outcome) && !hasFlow, 'completed'],
    [outcome.waiting, 'input-required'],
  ];
  // The session has ended, or a human agent has taken over.
  return rules.find(([holds]) => holds)?.[1] ?? 'completed';
}

/** Patterns that cancel flows: the user cancelled, or the flows changed during the conversation. */
const cancelling: ReadonlySet<string> = new Set(['pattern_cancel_flow', 'pattern_code_change']);

/** The session started, and nothing else happened. */
function isWelcome({ raised }: TurnOutcome): boolean {
  return raised.length > 0 && raised.every(({ flowId }) => flowId === 'pattern_session_start');
}

/** A user message: its text without slot markers, and the slot values that the sender sent along. */
type SeededMessage = Required<Pick<TurnRequest, 'text' | 'slots' | 'metadata'>>;

/** Characters at the end of a text that are searched for slots. */
const maxTail = 64 * 1024;

/**
 * Reads the slots that an orchestrator sends along. Later sources override earlier ones: the end of
 * the text (`SLOTS: {...}` on a line of its own, or a fenced block of JSON), `slots` of the metadata,
 * `slots` of a data part. The caller validates names and values against the domain.
 * @example readSeeds(message('Transfer money\nSLOTS: {"amount": 5}'), {}).slots // { amount: 5 }
 */
export function readSeeds(message: Message, requestMetadata: JsonObject): SeededMessage {
  const spoken = message.parts.map((part) => part.text ?? '').filter((text) => text !== '');
  const { text, slots: written } = splitText(spoken.join('\n'));
  const metadata = { ...requestMetadata, ...message.metadata };
  const slots: Record<string, JsonValue> = {
    ...written,
    ...slotsOf(requestMetadata),
    ...slotsOf(message.metadata),
  };
  for (const part of message.parts) Object.assign(slots, slotsOf(part.data));
  return { text, slots, metadata };
}

function slotsOf(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) return {};
  return isJsonObject(value['slots']) ? value['slots'] : {};
}

const slotsLine = /^[ \t]*SLOTS:[ \t]*(\{.*\})[ \t]*$/m;
const fencedBlock = /\n?```(?:json)?[ \t]*\n([^`]*)\n?```\s*$/;

function splitText(whole: string): { text: string; slots: JsonObject } {
  const head = whole.slice(0, -maxTail);
  let tail = whole.slice(-maxTail);
  let slots: JsonObject = {};
  for (const marker of [fencedBlock, slotsLine]) {
    const match = marker.exec(tail);
    const found = match === null ? undefined : parse(match[1] ?? '');
    if (match === null || found === undefined) continue;
    slots = { ...found, ...slots };
    tail = tail.slice(0, match.index) + tail.slice(match.index + match[0].length);
  }
  return { text: (head + tail).trim(), slots };
}

/** Parses slots. Undefined for invalid JSON, which stays part of the message. */
function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
