import { message, LegateError, type Part } from '../../protocol/index.ts';
import type { Engine, SendOutcome } from '../../tasks/index.ts';
import { autonomousPrompt, questionParts, textOfParts } from './answers.ts';
import type { Invocation, InvocationOutcome, PeerQuestion } from './invocation.ts';

/**
 * How the invoker reaches the conversation that an invocation belongs to.
 * @example
 * const conversations: Conversations = {
 *   answer: async ({ agent }, { text }, signal) => askModel(`${agent} asks: ${text}`, signal),
 * };
 */
export interface Conversations {
  /** Shows the user a status message of a peer. */
  progress?(invocation: Invocation, text: string): void | Promise<void>;
  /** Notifies the conversation of an outcome. Called again after a crash, with the same notice id. */
  ended?(
    invocation: Invocation,
    notice: { readonly id: string; readonly text: string; readonly outcome: InvocationOutcome },
  ): Promise<void>;
  /** Asks the user a question of a peer; `Invoker.answer` sends the answer. */
  ask?(invocation: Invocation, question: PeerQuestion): Promise<void>;
  /** Lets a model answer a peer's question with all its tools. */
  answer?(
    invocation: Invocation,
    question: PeerQuestion,
    signal: AbortSignal,
  ): Promise<string | readonly Part[]>;
}

/** The metadata key that marks messages of the invoker. */
export const peerMetadata = 'legate.peers';

/** The invocation that a message of the invoker is about. */
export interface PeerNote {
  readonly kind: 'result' | 'question';
  readonly invocation: string;
  /** The agent that answers or asks. */
  readonly agent: string;
}

/** The engine that runs the conversations. */
export interface EngineConversationsOptions {
  /** A function, because the engine is created after the invoker. */
  readonly engine: () => Engine;
  readonly progress?: Conversations['progress'];
  /** Whether the agent answers questions of peers that are trusted to act. @default true */
  readonly answers?: boolean;
}

/**
 * The conversations of an agent that an engine runs. An answer of a peer becomes a turn of the
 * conversation; a question becomes a task that waits for its user (`askingUsers`). Message ids are
 * derived from the invocation, so that the engine deduplicates them.
 * @example
 * const conversations = engineConversations({ engine: () => engine });
 * await using network = await joinPeers({ name: 'me', store, conversations });
 */
export function engineConversations(options: EngineConversationsOptions): Conversations {
  const { engine, progress, answers = true } = options;
  const send = async (
    { id, agent, session }: Invocation,
    note: {
      readonly id: string;
      readonly kind: PeerNote['kind'];
      readonly content: string | readonly Part[];
    },
  ): Promise<void> => {
    const metadata = { [peerMetadata]: { kind: note.kind, invocation: id, agent } };
    const sent = message(note.content, { messageId: note.id, contextId: session.id, metadata });
    const call = { caller: session.caller, version: '1.0' } as const;
    await engine()
      .send({ message: sent, configuration: { returnImmediately: true } }, call)
      .catch((error: unknown) => {
        // A duplicate: the turn runs already.
        if (!(error instanceof LegateError) || error.code !== 'MESSAGE_IN_FLIGHT') throw error;
      });
  };
  const answer: NonNullable<Conversations['answer']> = async (invocation, question, signal) => {
    const { session, id } = invocation;
    // A context of its own: the turn of the user's conversation may be waiting for this answer.
    const contextId = `${session.id} a2a ${id}`.slice(0, 256);
    const prompt = message(autonomousPrompt(invocation, question), {
      messageId: `${id} answer ${question.round}`,
      contextId,
    });
    const call = { caller: session.caller, version: '1.0', signal } as const;
    return answerParts(await engine().send({ message: prompt }, call));
  };
  return {
    ...(progress !== undefined && { progress }),
    ended: (invocation, { id, text }) => send(invocation, { id, kind: 'result', content: text }),
    ask: (invocation, question) =>
      send(invocation, {
        id: `${invocation.id} question ${question.round}`,
        kind: 'question',
        content: questionParts(question),
      }),
    ...(answers && { answer }),
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
