import type { Turn } from '../../agents/index.ts';
import type { TurnRequest } from '../assistant.ts';
import type { TrackerEvent } from '../conversation.ts';

/** A door beside A2A; only doors themselves can say so, never a message. */
export function isChannel(turn: Turn): boolean {
  return turn.caller.method === 'channel';
}

/** What a turn of the engine tells the assistant about who speaks, in which conversation. */
export async function speakerOf(turn: Turn): Promise<Omit<TurnRequest, 'text'>> {
  const { channel } = turn.metadata;
  const { messageId, metadata = {} } = turn.message;
  const userId = metadata['user_id'];
  return {
    senderId: turn.contextId,
    tracker: await turn.state.load(),
    messageId,
    metadata,
    // Orchestrators have a channel of their own.
    channel: isChannel(turn) && typeof channel === 'string' ? channel : 'a2a',
    ...(typeof userId === 'string' && { userId }),
    signal: turn.signal,
    history: async (options) => (await turn.state.log(options)) as readonly TrackerEvent[],
  };
}
