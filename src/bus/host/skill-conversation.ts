import type { Turn, TurnEvent } from '../../agents/index.ts';
import { type JsonObject, type Message, type Part, v1 } from '../../protocol/index.ts';

/**
 * What was said before the message of a turn.
 * @example
 * async function lastAnswer(conversation: SkillConversation) {
 *   const said = await conversation.history();
 *   return said.findLast(({ role }) => role === 'ROLE_AGENT');
 * }
 */
export interface SkillConversation {
  /**
   * Earlier messages, oldest first, without the present one: those of the task, or, where the skill
   * remembers, those of the whole conversation.
   */
  history(): Promise<readonly Message[]>;
}

const key = 'skill-conversation';
const MAX_MESSAGES = 100;
/** Characters of JSON. */
const MAX_LENGTH = 200_000;

/**
 * Runs a turn with the history of its whole conversation, other tasks included: callers may follow up
 * by the context alone. The turn's messages are saved at its end, without files.
 */
export async function* remembering(
  turn: Turn,
  take: (conversation: SkillConversation) => AsyncIterable<TurnEvent>,
): AsyncGenerator<TurnEvent> {
  const { session } = turn;
  if (session === undefined) {
    yield* take(turn);
    return;
  }
  const earlier = readMessages(await session.get(key));
  const said: Part[] = [];
  const keep = (): void => {
    const { messageId, role } = turn.message;
    const answer: Message = { messageId: `${messageId} answer`, role: 'ROLE_AGENT', parts: said };
    const asked: Message = { messageId, role, parts: turn.message.parts.filter(isWords) };
    const spoken = said.length === 0 ? [asked] : [asked, answer];
    const kept = bounded([...earlier, ...spoken]);
    session.set(key, kept.map(toJson));
  };
  for await (const event of take({ history: async () => earlier })) {
    said.push(...partsOf(event).filter(isWords));
    // The consumer stops after the end.
    if (isEnd(event)) keep();
    yield event;
  }
  keep();
}

function readMessages(stored: unknown): readonly Message[] {
  return Array.isArray(stored)
    ? stored.map((message) => v1.message.decode(message, { allowEmptyParts: true }))
    : [];
}

function toJson({ messageId, role, parts }: Message): JsonObject {
  return { messageId, role, parts: parts.map((part) => ({ ...part })) };
}

function isWords({ raw, url }: Part): boolean {
  return raw === undefined && url === undefined;
}

function partsOf(event: TurnEvent): readonly Part[] {
  if (!('kind' in event)) return event.parts;
  if (event.kind === 'chunk') return event.artifact.parts;
  return event.kind === 'working' ? [] : (event.parts ?? []);
}

function isEnd(event: TurnEvent): boolean {
  return 'kind' in event && event.kind !== 'chunk' && event.kind !== 'working';
}

/** The latest of it. */
function bounded(messages: readonly Message[]): readonly Message[] {
  let kept = messages.slice(-MAX_MESSAGES);
  while (kept.length > 0 && JSON.stringify(kept).length > MAX_LENGTH) {
    kept = kept.slice(Math.ceil(kept.length / 4));
  }
  return kept;
}
