import { message, type JsonObject, LegateError, type Part } from '../../protocol/index.ts';
import type { Engine, SendOutcome } from '../../tasks/index.ts';
import { textOfParts } from './answer-text.ts';
import type { Conversations } from './conversations.ts';
import type { Invocation } from './invocation.ts';
import { autonomousPrompt, userPrompt } from './notices.ts';

/** The metadata by which messages of ours are known to be ours. */
export const peerMetadata = 'legate.peers';

/** What a message of ours is about. */
export interface PeerNote extends JsonObject {
  readonly kind: 'result' | 'question';
  readonly invocation: string;
}

/**
 * Through which engine conversations are spoken to.
 * @example
 * const options: EngineConversationsOptions = {
 *   engine: () => hosting.engine,
 *   progress: ({ agent }, text) => console.log(`${agent}: ${text}`),
 * };
 */
export interface EngineConversationsOptions {
  /** The engine of the agent whose conversations these are; given as a function, for it comes later. */
  readonly engine: () => Engine;
  readonly progress?: Conversations['progress'];
}

/**
 * The conversations of an agent that an engine runs. What peers answer comes in as a turn of the
 * conversation that asked; what they ask, as a task that waits for its user (`askingUsers`). Every
 * message has an id made from what it tells, so that none is told twice.
 * @example
 * const conversations = engineConversations({ engine: () => engine });
 * await using network = await joinPeers({ name: 'me', store, conversations });
 */
export function engineConversations(options: EngineConversationsOptions): Conversations {
  const { engine, progress } = options;
  const tell = async (
    { id, session }: Invocation,
    note: { readonly id: string; readonly kind: PeerNote['kind']; readonly text: string },
  ): Promise<void> => {
    const metadata = { [peerMetadata]: { kind: note.kind, invocation: id } };
    const told = message(note.text, { messageId: note.id, contextId: session.id, metadata });
    const call = { caller: session.caller, version: '1.0' } as const;
    await engine()
      .send({ message: told, configuration: { returnImmediately: true } }, call)
      .catch((error: unknown) => {
        // It was told before, and is being thought about.
        if (!(error instanceof LegateError) || error.code !== 'MESSAGE_IN_FLIGHT') throw error;
      });
  };
  return {
    ...(progress !== undefined && { progress }),
    ended: (invocation, { id, text }) => tell(invocation, { id, kind: 'result', text }),
    ask: (invocation, question) =>
      tell(invocation, {
        id: `${invocation.id} question ${question.round}`,
        kind: 'question',
        text: userPrompt(invocation, question),
      }),
    async answer(invocation, question, signal) {
      const { session, id } = invocation;
      // Beside the user's conversation, whose turn may be the one that waits for this answer.
      const contextId = `${session.id} a2a ${id}`.slice(0, 256);
      const asked = message(autonomousPrompt(invocation, question), {
        messageId: `${id} answer ${question.round}`,
        contextId,
      });
      const call = { caller: session.caller, version: '1.0', signal } as const;
      return answerParts(await engine().send({ message: asked }, call));
    },
  };
}

function answerParts(outcome: SendOutcome): readonly Part[] {
  if ('message' in outcome) return outcome.message.value.parts;
  const { status, artifacts = [] } = outcome.task.value;
  if (status.state !== 'TASK_STATE_COMPLETED') {
    throw new LegateError('INVALID_AGENT_RESPONSE', `the model did not answer: ${status.state}`);
  }
  const parts = [
    ...artifacts.flatMap((artifact) => artifact.parts),
    ...(status.message?.parts ?? []),
  ];
  return [{ text: textOfParts(parts) }];
}
