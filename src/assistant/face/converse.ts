import {
  chunk,
  textOf,
  type Turn,
  type TurnEnd,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import { data } from '../../protocol/index.ts';
import { TurnStopped } from '../../tasks/index.ts';
import type { StreamPiece } from '../actions/index.ts';
import type { Assistant } from '../assistant.ts';
import type { TurnResult } from '../turn-result.ts';
import { type Keep, sessionEnded } from './ends.ts';
import { messagePart, partsOf } from './parts.ts';
import { Pieces } from './pieces.ts';
import { readSeeds } from './seeding.ts';
import { isChannel, speakerOf } from './speaker.ts';
import { stateOf } from './state-mapper.ts';
import type { BotMessage } from '../bot-message.ts';

type Piece = StreamPiece | { readonly kind: 'message'; readonly message: BotMessage };
type Repair = { readonly includeConversationRepair: boolean };

/** How a conversation is shown, and what of it is kept. */
export type Manner = Repair & { readonly keep: Keep };

/** A message as a task: what is streamed on the way, then one end with everything in it. */
export async function* converse(
  assistant: Assistant,
  turn: Turn,
  manner: Manner,
): AsyncGenerator<TurnEvent> {
  const speaker = await speakerOf(turn);
  // Slots in words and metadata are a matter between orchestrators and us.
  const heard = isChannel(turn)
    ? { text: textOf(turn.message) }
    : readSeeds(turn.message, turn.metadata);
  const pieces = new Pieces<Piece>();
  const handled = assistant
    .handle({
      ...speaker,
      ...heard,
      onChunk: (piece) => pieces.put(piece),
      // A channel shows each message when it is said. Orchestrators find them in the end, save what
      // agents and tools let know on the way.
      onMessage: async (message) => {
        if (isChannel(turn) || isIntermediate(message)) await show(pieces, message);
      },
    })
    .finally(() => pieces.close());
  // A consumer that leaves early leaves this promise to itself.
  handled.catch(() => {});
  yield* eventsOf(pieces);
  try {
    const result = await handled;
    const isOver = result.outcome.ended && result.events.length === 0;
    if (isOver && speaker.tracker !== undefined) yield sessionEnded();
    else yield await (isChannel(turn) ? channelEnd(result, manner) : endOf(result, manner));
  } catch (error) {
    yield await stoppedEnd(assistant, turn, error, manner);
  }
}

function show(pieces: Pieces<Piece>, message: BotMessage): Promise<void> {
  // What was shown piece by piece is not shown again.
  const isShown = message.metadata?.['streamed'] === true;
  return isShown ? Promise.resolve() : pieces.put({ kind: 'message', message });
}

async function* eventsOf(pieces: Pieces<Piece>): AsyncGenerator<TurnEvent> {
  const started = new Set<string>();
  for await (const piece of pieces) {
    if (piece.kind === 'message') yield working([messagePart(piece.message)]);
    else if (piece.kind === 'chunk') {
      const { streamId, text } = piece;
      yield chunk(streamId, text, { append: started.has(streamId) });
      started.add(streamId);
    } else if (piece.kind === 'end' && started.has(piece.streamId)) {
      // The end of a stream brings no words of its own.
      yield chunk(piece.streamId, '', { append: true, last: true });
    }
  }
}

function isIntermediate({ metadata }: BotMessage): boolean {
  return metadata?.['intermediate'] === true;
}

async function endOf(result: TurnResult, manner: Manner): Promise<TurnEnd> {
  const { outcome } = result;
  const messages = result.messages.filter((message) => !isIntermediate(message));
  const kind = stateOf(outcome, manner);
  return { kind, parts: partsOf(kind, outcome, messages), context: await manner.keep(result) };
}

/** A channel has seen every message, and it has no use for tasks that wait. */
async function channelEnd(result: TurnResult, { keep }: Manner): Promise<TurnEnd> {
  const { outcome } = result;
  const state = stateOf(outcome, { includeConversationRepair: true });
  return { kind: 'completed', parts: partsOf(state, outcome, []), context: await keep(result) };
}

/** A turn that was cancelled takes its flows with it; whatever else stopped it, they stay. */
async function stoppedEnd(
  assistant: Assistant,
  turn: Turn,
  error: unknown,
  { keep }: Manner,
): Promise<TurnEnd> {
  const { reason } = turn.signal as { reason: unknown };
  const cause = reason instanceof TurnStopped ? reason.stopCause : undefined;
  if (cause !== 'cancel' && cause !== 'timeout') throw error;
  const tracker = await turn.state.load();
  if (tracker === undefined) return { kind: 'canceled', parts: [data({ state: 'canceled' })] };
  const result = await assistant.abandon({ senderId: turn.contextId, tracker });
  return {
    kind: 'canceled',
    parts: partsOf('canceled', result.outcome, []),
    context: await keep(result),
  };
}
