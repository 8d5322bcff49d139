import { message, type Part, toParts } from '../../protocol/index.ts';
import { peerSubject } from '../trust/index.ts';
import { type AnswerContent, textOfParts } from './answer-text.ts';
import type { Endings } from './endings.ts';
import type { Invocation } from './invocation.ts';
import { invalid } from './invoke-request.ts';
import { countExchange, loopTexts } from './loop-guard.ts';
import { sendMessage, type Workings } from './workings.ts';

type Question = NonNullable<Invocation['question']>;

/**
 * What peers ask, and who answers: a model, where the peer is trusted to act and the skill is
 * approved; the user in all other cases. The same for every transport, with the same limits.
 */
export class Questions {
  readonly #workings: Workings;
  readonly #endings: Endings;

  constructor(workings: Workings, endings: Endings) {
    this.#workings = workings;
    this.#endings = endings;
  }

  /** A peer asks. A conversation that goes on for too long is ended. */
  async take(invocation: Invocation, content: AnswerContent): Promise<void> {
    const { store, scheduler, deadlines, maxInputRequiredRounds, askTimeoutMs } = this.#workings;
    // A broker may tell it twice.
    if (invocation.state === 'ended' || invocation.question?.id === content.id) return;
    if (invocation.rounds >= maxInputRequiredRounds) return this.#break(invocation, 'max_rounds');
    const needsAuthorization = content.state === 'TASK_STATE_AUTH_REQUIRED';
    const mayAnswer = !needsAuthorization && (await this.#mayAnswer(invocation));
    const question: Question = {
      id: content.id,
      round: invocation.rounds + 1,
      parts: content.statusParts,
      text: textOfParts(content.statusParts) || content.text,
      needsAuthorization,
      answerer: mayAnswer ? 'model' : 'user',
    };
    const now = scheduler.now();
    const asked = await store.change(invocation.id, (current) =>
      current.state === 'ended'
        ? undefined
        : {
            ...current,
            state: 'asking',
            question,
            rounds: question.round,
            // A model has the time that the peer had; the user has a time of its own.
            deadline: now + (mayAnswer ? current.timeoutMs : askTimeoutMs),
          },
    );
    if (asked?.isChanged !== true) return;
    deadlines.set(asked.invocation);
    await this.ask(asked.invocation);
  }

  /** Has the open question of an invocation answered. */
  async ask(invocation: Invocation): Promise<void> {
    const { conversations, telemetry, watchers } = this.#workings;
    const { question, mode } = invocation;
    if (question === undefined) return;
    const isAutonomous = question.answerer === 'model';
    telemetry.round(invocation, isAutonomous);
    if (isAutonomous) {
      // Thinking takes its time, and what else the peer says must be heard meanwhile.
      void this.#answerByModel(invocation, question);
      return;
    }
    watchers.tell(invocation.id, { invocation });
    // Where somebody waits for the outcome, that somebody asks the user.
    if (mode === 'notify') await conversations.ask?.(invocation, question);
  }

  /** Sends the answer to the open question, in the same task and context. */
  async answer(asking: Invocation, parts: readonly Part[]): Promise<Invocation> {
    const { store, scheduler, repetitionThreshold, telemetry, replica, closing } = this.#workings;
    const { id, remote, skill } = asking;
    if (asking.state !== 'asking') {
      throw invalid(`Agent '${asking.agent}' does not wait for an answer in task ${id}.`);
    }
    const lastExchange = countExchange(asking, textOfParts(parts));
    if (lastExchange.count >= repetitionThreshold) {
      await this.#break(asking, 'repetition');
      return (await store.find(id)) ?? asking;
    }
    const answer = message(parts, {
      messageId: scheduler.uuid(),
      metadata: { skill },
      ...(remote?.taskId !== undefined && { taskId: remote.taskId }),
      ...(remote?.contextId !== undefined && { contextId: remote.contextId }),
    });
    const deadline = scheduler.now() + asking.timeoutMs;
    const sending = await store.change(id, (current) =>
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
    try {
      const sent = await sendMessage(this.#workings, sending.invocation);
      telemetry.answered(sent);
      return sent;
    } catch (error) {
      // The answer may have left: the next process finds out.
      closing.throwIfAborted();
      // The question stands, for as long as it did: whoever answered can try again.
      const standing = await store.change(id, (current) =>
        current.state === 'sending'
          ? { ...asking, deadline: Math.max(asking.deadline, deadline) }
          : undefined,
      );
      if (standing?.isChanged === true) this.#workings.deadlines.set(standing.invocation);
      throw error;
    }
  }

  async #mayAnswer({ agent, skill }: Invocation): Promise<boolean> {
    const { trust, conversations } = this.#workings;
    if (trust === undefined || conversations.answer === undefined) return false;
    return trust.mayAct(peerSubject(agent), skill);
  }

  async #answerByModel(invocation: Invocation, question: Question): Promise<void> {
    const { conversations, closing, logger, lanes, store, telemetry } = this.#workings;
    const { id } = invocation;
    try {
      const thought = telemetry.within(invocation, () =>
        conversations.answer?.(invocation, question, closing),
      );
      const said = toParts((await thought) ?? '');
      if (textOfParts(said) === '') throw new Error('the model gave no answer');
      await lanes.run(id, async () => this.answer((await store.find(id)) ?? invocation, said));
    } catch (error) {
      if (closing.aborted) return;
      logger.warn({ invocation: id, error }, 'peers.question.not_answered_by_model');
      await this.#askUserInstead(id).catch((failure: unknown) => {
        logger.error({ invocation: id, error: failure }, 'peers.question.not_asked');
      });
    }
  }

  /** What is no answer is not sent: the user is asked. */
  async #askUserInstead(id: string): Promise<void> {
    const { store, scheduler, deadlines, askTimeoutMs } = this.#workings;
    const deadline = scheduler.now() + askTimeoutMs;
    const asked = await store.change(id, (current) =>
      current.state === 'asking' && current.question?.answerer === 'model'
        ? { ...current, deadline, question: { ...current.question, answerer: 'user' } }
        : undefined,
    );
    if (asked?.isChanged !== true) return;
    deadlines.set(asked.invocation);
    await this.ask(asked.invocation);
  }

  async #break(invocation: Invocation, reason: keyof typeof loopTexts): Promise<void> {
    this.#workings.telemetry.broke(invocation, reason);
    const outcome = { end: 'TASK_STATE_FAILED', text: loopTexts[reason], data: [] } as const;
    await this.#endings.abandon(invocation.id, outcome);
  }
}
