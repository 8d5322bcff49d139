import {
  type Agent,
  chunk,
  EventChannel,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import { type AgentSkill, data, text } from '../../protocol/index.ts';
import { TurnStopped } from '../../tasks/index.ts';
import type { Assistant } from '../assistant.ts';
import type { BotMessage } from '../bot-message.ts';
import type { TurnResult } from '../turn-result.ts';
import { skillsOf } from './card.ts';
import {
  conversationCommands,
  type InactivityTimerFactory,
  saved,
  speakerOf,
} from './conversation-commands.ts';
import { messagePart, partsOf } from './parts.ts';
import { readSeeds } from './seeding.ts';
import { stateOf } from './state-mapper.ts';

/**
 * How an assistant is exposed as an A2A agent.
 * @example
 * const options: AssistantAgentOptions = {
 *   assistant: () => current, // set anew after each reload
 *   name: 'bank', description: 'Looks after accounts, cards and transfers.',
 * };
 */
export interface AssistantAgentOptions {
  /** The current assistant: undefined until a model is loaded, another after a reload. */
  readonly assistant: () => Assistant | undefined;
  /** @default 'Rasa Agent' */
  readonly name?: string;
  readonly description: string;
  /** @default true */
  readonly includeConversationRepair?: boolean;
  /** Record when conversations become inactive. @default none: recorded with the next message only */
  readonly timers?: InactivityTimerFactory;
}

/**
 * An assistant as an agent: each context is a conversation, each message a turn of it. The tracker is
 * saved in the transaction that ends the turn, so a conversation and its tasks never disagree. Messages
 * of A2A callers become tasks; channels use its commands.
 * @example serve(assistantAgent({ assistant: () => assistant, description: 'Looks after accounts.' }))
 */
export function assistantAgent(options: AssistantAgentOptions): Agent {
  const { timers, includeConversationRepair = true } = options;
  const repair = { includeConversationRepair };
  const canceled = async (assistant: Assistant, turn: Turn, signal?: AbortSignal) => {
    const tracker = await turn.state.load();
    if (tracker === undefined) return undefined;
    const { contextId: senderId } = turn;
    const request = { senderId, tracker, ...(signal !== undefined && { signal }) };
    const result = await assistant.abandon(request);
    const context = saved(assistant, turn, result, timers);
    return { parts: partsOf('canceled', result.outcome, []), context };
  };
  return {
    name: options.name ?? 'Rasa Agent',
    description: options.description,
    get skills(): readonly AgentSkill[] {
      const assistant = options.assistant();
      return assistant === undefined ? [] : skillsOf(assistant.flows, repair);
    },
    supersedes: true,
    commands: conversationCommands({ assistant: options.assistant, timers }),
    async *take(turn) {
      const assistant = options.assistant();
      if (assistant === undefined) {
        turn.logger.warn({}, 'a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready');
        yield failure('agent_not_ready', 'Agent is not ready to handle messages.');
        return;
      }
      yield working();
      try {
        const { result, isOver } = yield* shownWhile(assistant, turn);
        if (isOver)
          yield failure('session_ended', 'This conversation has ended. Start another one.');
        else yield { ...endOf(result, repair), context: saved(assistant, turn, result, timers) };
      } catch (error) {
        if (!wasGivenUp(turn)) throw error;
        // Cancelling a turn cancels its flows; a turn aborted for another reason keeps them.
        const parts = [data({ state: 'canceled' })];
        yield { kind: 'canceled', parts, ...(await canceled(assistant, turn)) };
      }
    },
    async abandon(turn) {
      const assistant = options.assistant();
      return assistant && (await canceled(assistant, turn, turn.signal));
    },
  };
}

/** Runs a turn: yields streamed chunks and returns the final status. */
async function* shownWhile(
  assistant: Assistant,
  turn: Turn,
): AsyncGenerator<TurnEvent, { readonly result: TurnResult; readonly isOver: boolean }> {
  const { messageId, metadata = {} } = turn.message;
  const speaker = await speakerOf(turn, { messageId, metadata, channel: 'a2a' });
  const shown = new EventChannel<TurnEvent>();
  const started = new Set<string>();
  const handled = assistant.handle({
    ...speaker,
    ...readSeeds(turn.message, turn.metadata),
    onChunk: async (piece) => {
      const append = started.has(piece.streamId);
      if (piece.kind === 'chunk') {
        started.add(piece.streamId);
        await shown.push(chunk(piece.streamId, piece.text, { append }));
      } else if (piece.kind === 'end' && append) {
        // The end of a stream has no text.
        await shown.push(chunk(piece.streamId, '', { append, last: true }));
      }
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
  const told = messages.filter((message) => !isIntermediate(message));
  return { kind, parts: partsOf(kind, outcome, told) };
}

function wasGivenUp({ signal }: Turn): boolean {
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
