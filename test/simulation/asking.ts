import type { Message, TaskPushNotificationConfig } from '../../src/protocol/index.ts';
import type { Call } from '../../src/tasks/index.ts';
import type { Answers, Outcome } from './answers.ts';
import { type Attempts, isSilent } from './attempts.ts';
import type { BusClient } from './bus-client.ts';
import type { History } from './history.ts';
import type { Ledger } from './ledger/ledger.ts';
import { nextVisible } from './ledger/logs.ts';
import type { Network, Subscription } from './network.ts';
import type { Random } from './random.ts';
import type { Lane } from './virtual-time.ts';

export interface AskingOptions {
  readonly network: Network;
  readonly ledger: Ledger;
  readonly history: History;
  readonly random: Random;
  readonly outside: Lane;
  readonly call: Call;
  readonly busClient: BusClient | undefined;
}

interface Reading {
  taskId: string | undefined;
  /** The number of the last event seen. */
  last: number;
}

/** The ways of a client to send a message and to learn the outcome. */
export class Asking {
  readonly #options: AskingOptions;
  readonly #attempts: Attempts;
  readonly #answers: Answers;

  constructor(options: AskingOptions & { attempts: Attempts; answers: Answers }) {
    this.#options = options;
    this.#attempts = options.attempts;
    this.#answers = options.answers;
  }

  async andWait(message: Message, push: TaskPushNotificationConfig | undefined): Promise<Outcome> {
    const request = sendRequest(message, push, false);
    for (;;) {
      try {
        const { call } = this.#options;
        const outcome = await this.#attempts.request((engine, signal) =>
          engine.send(request, { ...call, signal }),
        );
        return this.#answers.answered(message, outcome);
      } catch (error) {
        const verdict = this.#attempts.judge(error);
        if (verdict.kind === 'ended') return this.#answers.refused(message);
        if (isSilent(error)) {
          const turn = this.#options.ledger.turns.ofMessage(message.messageId);
          this.#attempts.expectNews(turn?.endedAt, `the answer to ${message.messageId}`);
        }
        await this.#attempts.rest(error, verdict, 'again', 'in-flight');
      }
    }
  }

  async andPoll(message: Message, push: TaskPushNotificationConfig | undefined): Promise<Outcome> {
    const request = sendRequest(message, push, true);
    for (;;) {
      try {
        const { call } = this.#options;
        const outcome = await this.#attempts.request((engine, signal) =>
          engine.send(request, { ...call, signal }),
        );
        if ('message' in outcome) return this.#answers.answered(message, outcome);
        return await this.#poll(message, outcome.task.value.id);
      } catch (error) {
        const verdict = this.#attempts.judge(error);
        if (verdict.kind === 'ended') return this.#answers.refused(message);
        if (verdict.kind === 'in-flight' && verdict.taskId !== undefined) {
          const polled = await this.#poll(message, verdict.taskId);
          if (polled.kind !== 'refused' || message.taskId !== undefined) return polled;
        }
        await this.#attempts.rest(error, verdict, 'again', 'in-flight');
      }
    }
  }

  /** Looks at the task until the message was handled. */
  async #poll(message: Message, taskId: string): Promise<Outcome> {
    const { outside, random, call } = this.#options;
    for (;;) {
      try {
        const task = await this.#attempts.request((engine) => engine.getTask({ id: taskId }, call));
        const settled = this.#answers.settled(message, task.value);
        if (settled !== undefined) return settled;
      } catch (error) {
        const verdict = this.#attempts.judge(error);
        // Answered with a plain message: only the repeated message finds it.
        if (verdict.kind === 'not-found') return { kind: 'refused' };
        await this.#attempts.rest(error, verdict, 'again');
      }
      await outside.sleep(random.between(5, 100));
    }
  }

  async andRead(message: Message, push: TaskPushNotificationConfig | undefined): Promise<Outcome> {
    const request = sendRequest(message, push, false);
    const { network, random, call } = this.#options;
    for (;;) {
      let reading: Reading | undefined;
      try {
        const subscription = await network.open(random, (engine, signal) =>
          engine.stream(request, { ...call, signal }),
        );
        reading = { taskId: undefined, last: 0 };
        const outcome = await this.#read(message, subscription, reading);
        if (outcome !== undefined) return outcome;
      } catch (error) {
        const verdict = this.#attempts.judge(error);
        if (verdict.kind === 'ended') return this.#answers.refused(message);
        if (verdict.kind === 'not-found' && message.taskId === undefined) {
          // A plain message took its place, which the next try finds.
          reading = undefined;
        } else if (verdict.kind === 'in-flight' && random.chance(0.5)) {
          reading = { taskId: verdict.taskId, last: 0 };
        } else await this.#attempts.rest(error, verdict, 'again', 'in-flight');
      }
      if (reading?.taskId === undefined) continue;
      const outcome = await this.#resume(message, reading);
      if (outcome !== undefined) return outcome;
    }
  }

  /** Subscribes again and again; undefined when the task is gone. */
  async #resume(message: Message, reading: Reading): Promise<Outcome | undefined> {
    const { network, random, call } = this.#options;
    const id = reading.taskId ?? '';
    for (;;) {
      try {
        const lastEventId = reading.last > 0 ? { lastEventId: reading.last } : {};
        const subscription = await network.open(random, (engine, signal) =>
          engine.subscribe({ id }, { ...call, ...lastEventId, signal }),
        );
        const outcome = await this.#read(message, subscription, reading);
        if (outcome !== undefined) return outcome;
      } catch (error) {
        const verdict = this.#attempts.judge(error);
        if (verdict.kind === 'not-found') return undefined;
        if (verdict.kind === 'ended') return this.#poll(message, id);
        await this.#attempts.rest(error, verdict, 'again');
      }
    }
  }

  /** Reads until the message was handled; undefined when the reader leaves before. */
  async #read(
    message: Message,
    subscription: Subscription,
    reading: Reading,
  ): Promise<Outcome | undefined> {
    const { ledger, random, outside } = this.#options;
    try {
      for (;;) {
        const event = await subscription.next();
        const body = event.body.value;
        if ('message' in body)
          return this.#answers.answered(message, { message: { value: body.message } });
        if ('task' in body) {
          reading.taskId = body.task.id;
          if (event.sequence === 0)
            return this.#answers.answered(message, { task: { value: body.task } });
          ledger.logs.showTask(body.task.id, event.sequence, body.task, 'a stream');
          const settled = this.#answers.settled(message, body.task);
          if (settled !== undefined) return settled;
        } else ledger.logs.showEvent(reading.taskId ?? '', reading.last, event);
        reading.last = event.sequence;
        const isPause =
          'statusUpdate' in body && body.statusUpdate.status.state === 'TASK_STATE_INPUT_REQUIRED';
        if (event.isLast || isPause) {
          subscription.close();
          return await this.#glance(message, reading.taskId ?? '');
        }
        if (random.chance(0.03)) return undefined;
        if (random.chance(0.02)) await outside.sleep(random.between(20, 400));
      }
    } catch (error) {
      if (isSilent(error)) this.#checkSilence(reading);
      throw error;
    } finally {
      subscription.close();
    }
  }

  /** A stream that gives nothing for long has nothing to give. */
  #checkSilence({ taskId = '', last }: Reading): void {
    const { logs } = this.#options.ledger;
    const account = logs.get(taskId);
    if (account === undefined) return;
    const hasMore = nextVisible(account.events, last) <= account.events.length;
    if (account.isGone || hasMore) {
      this.#attempts.expectNews(account.changedAt, `the stream of ${taskId} after ${last}`);
    }
  }

  /** What the message has come to, if anything yet. */
  async #glance(message: Message, taskId: string): Promise<Outcome | undefined> {
    const task = await this.#attempts.insist((engine) =>
      engine.getTask({ id: taskId }, this.#options.call),
    );
    return this.#answers.settled(message, task.value);
  }

  /** Sends the message over the bus, and again as long as the outcome is unknown. */
  async byBus(message: Message, from: string): Promise<Outcome> {
    const { busClient, random, history } = this.#options;
    if (busClient === undefined) throw new RangeError('a world without a bus');
    for (;;) {
      const answer = await busClient.ask(message, from, random);
      if (answer.kind === 'silence') {
        history.note('client', () => `${message.messageId} has no answer`);
        continue;
      }
      if (answer.kind === 'result') {
        const { result } = answer;
        return 'task' in result
          ? this.#answers.answered(message, { task: { value: result.task } })
          : this.#answers.answered(message, { message: { value: result.message } });
      }
      const verdict = this.#attempts.judge(answer.error);
      if (verdict.kind === 'ended') return this.#answers.refused(message);
      await this.#attempts.rest(answer.error, verdict, 'again');
    }
  }
}

function sendRequest(
  message: Message,
  push: TaskPushNotificationConfig | undefined,
  returnImmediately: boolean,
) {
  return {
    message,
    configuration: {
      returnImmediately,
      ...(push !== undefined && { taskPushNotificationConfig: push }),
    },
  };
}
