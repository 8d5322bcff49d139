import { signal } from '@preact/signals';
import { mainAgent } from '../api/about.ts';
import { ownTarget, foreignTarget, type Target } from './target.ts';
import { TalkConversation } from './talk-conversation.ts';

/** The conversations of this page, side by side. */
export const talks = signal<readonly TalkConversation[]>([]);
/** The id of the selected conversation, which the panel shows. */
export const current = signal(0);
let count = 0;

export function currentTalk(): TalkConversation | undefined {
  return talks.value.find(({ number }) => number === current.value) ?? talks.value[0];
}

/** Starts a conversation, by default with the server's own agent. */
export function begin(target?: Target): TalkConversation {
  count += 1;
  const own = mainAgent();
  const chosen = target ?? (own === undefined ? foreignTarget('') : ownTarget(own.name));
  const talk = new TalkConversation(count, chosen);
  talks.value = [...talks.peek(), talk];
  current.value = talk.number;
  if (chosen.own !== undefined || chosen.url !== '') void talk.meet();
  return talk;
}

export function end(talk: TalkConversation): void {
  talk.leave();
  talks.value = talks.peek().filter((one) => one !== talk);
  if (current.peek() === talk.number) current.value = talks.peek().at(-1)?.number ?? 0;
}
