import { message, type Part, toParts } from '../../protocol/index.ts';
import { digestOf, type Replica } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { KeyedQueue } from '../../time/index.ts';
import { peerSubject } from '../trust/trust-subject.ts';
import type { TrustLedger } from '../trust/trust-ledger.ts';
import { type AnswerContent, textOfParts } from './answers.ts';
import type { Calls } from './calls.ts';
import type { Conversations } from './conversations.ts';
import type { Invocation, PeerQuestion } from './invocation.ts';
import { invalid } from './invoke-request.ts';
import type { InvokeTelemetry } from './invoke-telemetry.ts';

export interface QuestionsOptions extends Required<LoopLimits> {
  readonly calls: Calls;
  readonly replica: Replica;
  readonly conversations: Conversations;
  readonly trust: TrustLedger | undefined;
  readonly telemetry: InvokeTelemetry;
  /** Serializes the events of each invocation. */
  readonly queue: KeyedQueue;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Aborts when the invoker stops. */
  readonly closing: AbortSignal;
  /** How long the user may take, in milliseconds. */
  readonly askTimeoutMs: number;
}

/**
 * Passes the questions of peers to a model, if the peer is trusted to act and the skill is approved,
 * otherwise to the user. The limits are the same for every transport.
 */
export class Questions {
  readonly #options: QuestionsOptions;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Handles a question of a peer. Ends a conversation that exceeds the maximum number of rounds. */
  async take(invocation: Invocation, content: AnswerContent): Promise<void> {
    const { calls, scheduler, maxInputRequiredRounds, askTimeoutMs } = this.#options;
    // A broker may deliver it twice.
    if (invocation.state === 'ended' || invocation.question?.id === content.id) return;
    if (invocation.rounds >= maxInputRequiredRounds) return this.#break(invocation, 'max_rounds');
    const needsAuthorization = content.state === 'TASK_STATE_AUTH_REQUIRED';
    const mayAnswer = !needsAuthorization && (await this.#mayAnswer(invocation));
    const question: PeerQuestion = {
      id: content.id,
      round: invocation.rounds + 1,
      parts: content.statusParts,
      text: textOfParts(content.statusParts) || content.text,
      needsAuthorization,
      answerer: mayAnswer ? 'model' : 'user',
    };
    const now = scheduler.now();
    const asked = await calls.change(invocation.id, (current) =>
      current.state === 'ended'
        ? undefined
        : {
            ...current,
            state: 'asking',
            question,
            rounds: question.round,
            // A model has the same timeout as the peer; the user has another one.
            deadline: now + (mayAnswer ? current.timeoutMs : askTimeoutMs),
          },
    );
    if (asked?.isChanged === true) await this.ask(asked.invocation);
  }

  /** Passes the open question of an invocation to its answerer. */
  async ask(invocation: Invocation): Promise<void> {
    const { conversations, telemetry } = this.#options;
    const { question, mode } = invocation;
    if (question === undefined) return;
    const isAutonomous = question.answerer === 'model';
    telemetry.round(invocation, isAutonomous);
    if (isAutonomous) {
      // Not awaited: further events of the peer are handled while the model answers.
      void this.#answerByModel(invocation, question);
      return;
    }
    // In mode `wait` the waiter asks the user.
    if (mode === 'notify') await conversations.ask?.(invocation, question);
  }

  /** Sends the answer to the open question, in the same task and context. */
  async answer(
    asking: Invocation,
    parts: readonly Part[],
    { messageId }: { readonly messageId?: string } = {},
  ): Promise<Invocation> {
    const { calls, scheduler, repetitionThreshold, telemetry, replica, closing } = this.#options;
    const { id, remote, skill } = asking;
    if (asking.state !== 'asking') {
      throw invalid(`Agent '${asking.agent}' does not wait for an answer in task ${id}.`);
    }
    const lastExchange = countExchange(asking, textOfParts(parts));
    if (lastExchange.count >= repetitionThreshold) {
      await this.#break(asking, 'repetition');
      return (await calls.find(id)) ?? asking;
    }
    const answer = message(parts, {
      messageId: messageId ?? scheduler.uuid(),
      metadata: skill === '' ? {} : { skill },
      ...(remote?.taskId !== undefined && { taskId: remote.taskId }),
      ...(remote?.contextId !== undefined && { contextId: remote.contextId }),
    });
    const deadline = scheduler.now() + asking.timeoutMs;
    const sending = await calls.change(id, (current) =>
      current.state === 'asking'
        ? {
            ...current,
            state: 'sending',
            process: replica.id,
            message: answer,
            lastExchange,
            deadline,
          }
        : undefined,
    );
    if (sending?.isChanged !== true) throw invalid(`Task ${id} has been answered or has ended.`);
    telemetry.answering(sending.invocation);
    try {
      const sent = await calls.send(sending.invocation);
      telemetry.answered(sent);
      return sent;
    } catch (error) {
      // The answer may have been sent: the process that takes over checks this.
      closing.throwIfAborted();
      telemetry.paused(asking);
      // The question stays open for as long as before: the user can answer again.
      await calls.change(id, (current) =>
        current.state === 'sending'
          ? { ...asking, deadline: Math.max(asking.deadline, deadline) }
          : undefined,
      );
      throw error;
    }
  }

  async #mayAnswer({ agent, skill }: Invocation): Promise<boolean> {
    const { trust, conversations } = this.#options;
    if (trust === undefined || conversations.answer === undefined) return false;
    return trust.mayAct(peerSubject(agent), skill);
  }

  async #answerByModel(invocation: Invocation, question: PeerQuestion): Promise<void> {
    const { conversations, closing, logger, queue, calls, telemetry } = this.#options;
    const { id } = invocation;
    try {
      const answering = telemetry.within(invocation, () =>
        conversations.answer?.(invocation, question, closing),
      );
      const answer = toParts((await answering) ?? '');
      if (textOfParts(answer) === '') throw new Error('the model gave no answer');
      await queue.run(id, async () => this.answer((await calls.find(id)) ?? invocation, answer));
    } catch (error) {
      if (closing.aborted) return;
      logger.warn({ invocation: id, error }, 'peers.question.model_failed');
      await this.#askUserInstead(id).catch((failure: unknown) => {
        logger.error({ invocation: id, error: failure }, 'peers.question.ask_failed');
      });
    }
  }

  /** Asks the user, because the model gave no answer. */
  async #askUserInstead(id: string): Promise<void> {
    const { calls, scheduler, askTimeoutMs } = this.#options;
    const deadline = scheduler.now() + askTimeoutMs;
    const asked = await calls.change(id, (current) =>
      current.state === 'asking' && current.question?.answerer === 'model'
        ? { ...current, deadline, question: { ...current.question, answerer: 'user' } }
        : undefined,
    );
    if (asked?.isChanged === true) await this.ask(asked.invocation);
  }

  async #break(invocation: Invocation, reason: keyof typeof loopTexts): Promise<void> {
    this.#options.telemetry.loopEnded(invocation, reason);
    const outcome = { end: 'TASK_STATE_FAILED', text: loopTexts[reason], data: [] } as const;
    await this.#options.calls.abandon(invocation.id, outcome);
  }
}

export interface LoopLimits {
  /** How often a peer may ask. @default 20 */
  readonly maxInputRequiredRounds?: number;
  /** How often in a row the same question may get the same answer. @default 3 */
  readonly repetitionThreshold?: number;
}

/** Why a conversation with a peer was ended, for the model that called it. */
const loopTexts = {
  max_rounds:
    'The multi-turn conversation was terminated: max rounds exceeded. Consider breaking the request into smaller parts or providing more specific instructions.',
  repetition:
    'The multi-turn conversation was terminated: the conversation is stuck in a loop, the same question got the same answer again and again. Restructure the request so that it holds what the agent asks for.',
} as const;

const comparedLength = 500;

/** Counts an exchange with a peer. Only the beginnings of question and answer are compared. */
function countExchange(
  invocation: Invocation,
  answer: string,
): NonNullable<Invocation['lastExchange']> {
  const question = invocation.question?.text ?? '';
  const digest = digestOf(question.slice(0, comparedLength), answer.slice(0, comparedLength));
  const isSame = invocation.lastExchange?.digest === digest;
  return { digest, count: isSame ? (invocation.lastExchange?.count ?? 0) + 1 : 1 };
}
