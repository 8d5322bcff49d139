import type { ForkView, TranscriptView } from '../../../src/http/inspector/model.ts';
import { ownAgent } from '../api/about.ts';
import { get, path, post } from '../api/api.ts';
import type { TalkConversation } from './talk-conversation.ts';
import { openContext, startTalk } from './talks.ts';
import type { TalkTurn } from './turn.ts';

/** Whether the log has the state after each turn, so that a copy can continue from there. */
export function canCopy({ target }: TalkConversation): boolean {
  const { own } = target.value;
  return own !== undefined && ownAgent(own)?.isAssistant === true;
}

/**
 * Continues from a turn in a new conversation beside this one. For an assistant it is a copy, and nothing
 * is executed again. For other agents, the messages up to the turn are sent again.
 */
export async function forkAfter(talk: TalkConversation, turn: TalkTurn): Promise<void> {
  if (canCopy(talk)) await copyUntil(talk, turn, 'after');
  else await sendAgain(talk, talk.turns.slice(0, talk.turns.indexOf(turn) + 1));
}

/** Copies the conversation up to a turn, and shows the copy beside it. */
async function copyUntil(
  talk: TalkConversation,
  turn: TalkTurn,
  side: 'before' | 'after',
): Promise<TalkConversation | undefined> {
  const contextId = talk.contextId.peek() ?? '';
  const owner = talk.owner.peek()?.key;
  const query = owner === undefined ? '' : path`?owner=${owner}`;
  const { tracker } = await get<TranscriptView>(path`conversations/${contextId}` + query);
  const log = tracker?.['events'];
  const events = (Array.isArray(log) ? log : []) as readonly {
    event?: string;
    message_id?: string;
  }[];
  const at = events.findIndex((one) => one.message_id === turn.message.messageId);
  if (at < 0) throw new Error('This turn is not in the log of the conversation yet.');
  const next = events.findIndex(({ event }, index) => index > at && event === 'user');
  const count = side === 'before' ? at : next < 0 ? events.length : next;
  const { id } = await post<ForkView>(path`conversations/${contextId}/fork` + query, {
    events: count,
  });
  return openContext(id, { agent: talk.target.peek().own, isBeside: true });
}

/** Replaces the text of a turn, in a new conversation that continues from before the turn. */
export async function rerun(talk: TalkConversation, turn: TalkTurn, text: string): Promise<void> {
  const forked = canCopy(talk)
    ? await copyUntil(talk, turn, 'before')
    : await sendAgain(talk, talk.turns.slice(0, talk.turns.indexOf(turn)));
  await forked?.say({ parts: [{ text }] });
}

/** Resends messages of a conversation to its agent, in a new conversation beside it. */
async function sendAgain(
  talk: TalkConversation,
  turns: readonly TalkTurn[],
): Promise<TalkConversation> {
  const copy = startTalk(talk.target.peek());
  for (const { message, shown } of turns) {
    await copy.say({ parts: message.parts, ...(shown !== undefined && { shown }) });
  }
  return copy;
}
