import {
  type Agent,
  chunk,
  type ContextPatch,
  textOf,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import { type AgentSkill, data, type JsonObject, text } from '../../protocol/index.ts';
import type { StreamPiece } from '../actions/index.ts';
import type { Assistant } from '../assistant.ts';
import type { TrackerEvent } from '../model.ts';
import type { EventDraft } from '../tracker/index.ts';
import type { TurnResult } from '../turn-result.ts';
import { partsOf } from './parts.ts';
import { Pieces } from './pieces.ts';
import { readSeeds } from './seeding.ts';
import { skillsOf } from './skills.ts';
import { stateOf } from './state-mapper.ts';

export interface AssistantAgentOptions {
  /** The assistant of the moment: undefined until a model is loaded, another after a reload. */
  readonly assistant: () => Assistant | undefined;
  /** @default 'Rasa Agent' */
  readonly name?: string;
  readonly description: string;
  /** @default true */
  readonly includeConversationRepair?: boolean;
}

/**
 * An assistant as an agent: each context is a conversation, each message a turn of it. The tracker is
 * saved in the transaction that ends the turn, so a conversation and its tasks never disagree.
 */
export function assistantAgent(options: AssistantAgentOptions): Agent {
  const repair = { includeConversationRepair: options.includeConversationRepair ?? true };
  return {
    name: options.name ?? 'Rasa Agent',
    description: options.description,
    get skills(): readonly AgentSkill[] {
      const assistant = options.assistant();
      return assistant === undefined ? [] : skillsOf(assistant.flows, repair);
    },
    supersedes: true,
    // Channels and the API want an answer, not a task.
    replies: 'message',
    async *take(turn) {
      const assistant = options.assistant();
      if (assistant === undefined) {
        turn.logger.warn({}, 'a2a_server.rasa_a2a_agent_executor.execute.agent_not_ready');
        yield notReady();
        return;
      }
      if (isDirect(turn)) {
        yield* answerDirectly(assistant, turn);
        return;
      }
      yield working();
      yield* converse(assistant, turn, repair);
    },
    async abandon(turn) {
      const assistant = options.assistant();
      const tracker = await turn.state.load();
      if (assistant === undefined || tracker === undefined) return undefined;
      const result = await assistant.abandon({
        senderId: turn.contextId,
        tracker,
        signal: turn.signal,
      });
      return { parts: partsOf('canceled', result.outcome, []), context: contextOf(result) };
    },
  };
}

async function* converse(
  assistant: Assistant,
  turn: Turn,
  repair: { readonly includeConversationRepair: boolean },
): AsyncGenerator<TurnEvent> {
  const seeded = readSeeds(turn.message, turn.metadata);
  const tracker = await turn.state.load();
  const pieces = new Pieces<StreamPiece>();
  const turnResult = assistant
    .handle({
      senderId: turn.contextId,
      tracker,
      text: seeded.text,
      messageId: turn.message.messageId,
      metadata: seeded.metadata,
      slots: seeded.slots,
      channel: channelOf(turn),
      signal: turn.signal,
      onChunk: (piece) => pieces.put(piece),
      history: async () => (await turn.state.log()) as readonly TrackerEvent[],
    })
    .finally(() => pieces.close());
  const started = new Set<string>();
  for await (const piece of pieces) {
    if (piece.kind === 'start') continue;
    const { streamId } = piece;
    if (piece.kind === 'chunk') {
      yield chunk(streamId, piece.text, { append: started.has(streamId) });
      started.add(streamId);
    } else if (started.has(streamId)) {
      // The end of a stream brings no words of its own.
      yield chunk(streamId, '', { append: true, last: true });
    }
  }
  const result = await turnResult;
  yield endOf(result, tracker, repair);
}

/** A door beside A2A that wants the answer as a plain message; it says so as the caller. */
function isDirect(turn: Turn): boolean {
  return turn.caller.method === 'channel' && turn.metadata['direct'] === true;
}

async function* answerDirectly(assistant: Assistant, turn: Turn): AsyncGenerator<TurnEvent> {
  const tracker = await turn.state.load();
  const given = turn.message.parts[0]?.data as
    | { readonly events?: readonly EventDraft[] }
    | undefined;
  const sender = { senderId: turn.contextId, tracker };
  const result =
    given?.events !== undefined
      ? assistant.record(sender, given.events)
      : await assistant.handle({
          ...sender,
          text: textOf(turn.message),
          messageId: turn.message.messageId,
          metadata: turn.message.metadata ?? {},
          channel: channelOf(turn),
          signal: turn.signal,
          history: async () => (await turn.state.log()) as readonly TrackerEvent[],
        });
  const parts = partsOf(
    stateOf(result.outcome, { includeConversationRepair: true }),
    result.outcome,
    result.messages,
  );
  yield { kind: 'message', parts, context: contextOf(result) };
}

function endOf(
  result: TurnResult,
  before: JsonObject | undefined,
  repair: { readonly includeConversationRepair: boolean },
): TurnEnd {
  const { outcome, messages } = result;
  if (outcome.ended && result.events.length === 0 && before !== undefined) return sessionEnded();
  const kind = stateOf(outcome, repair);
  return { kind, parts: partsOf(kind, outcome, messages), context: contextOf(result) };
}

function contextOf(result: TurnResult): ContextPatch {
  return { value: result.tracker, log: result.events };
}

/** Doors beside A2A name their channel; orchestrators have one of their own. */
function channelOf(turn: Turn): string {
  const { channel } = turn.metadata;
  return turn.caller.method === 'channel' && typeof channel === 'string' ? channel : 'a2a';
}

function notReady(): TurnEnd {
  return {
    kind: 'failed',
    parts: [
      data({ state: 'failed', error_type: 'agent_not_ready', error_info: {} }),
      text('Agent is not ready to handle messages.'),
    ],
  };
}

function sessionEnded(): TurnEnd {
  return {
    kind: 'failed',
    parts: [
      data({ state: 'failed', error_type: 'session_ended', error_info: {} }),
      text('This conversation has ended. Start another one.'),
    ],
  };
}
