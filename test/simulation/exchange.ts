import {
  isTerminal,
  type Message,
  type Task,
  type TaskPushNotificationConfig,
} from '../../src/protocol/index.ts';
import { Answers, type Outcome } from './answers.ts';
import { Asking, type AskingOptions } from './asking.ts';
import { Attempts, isSilent } from './attempts.ts';
import type { Report } from './violation.ts';

export type { Outcome } from './answers.ts';

export interface ExchangeOptions extends AskingOptions {
  readonly report: Report;
}

/**
 * Requests that are made until they have an answer: whatever breaks is tried again, by the rules a
 * careful client follows (the same message id, resuming after the last event seen). Every answer is
 * held against the ledger.
 */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #attempts: Attempts;
  readonly #answers: Answers;
  readonly #asking: Asking;
  readonly #waiting = new Set<string>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#attempts = new Attempts(options);
    this.#answers = new Answers(options);
    this.#asking = new Asking({ ...options, attempts: this.#attempts, answers: this.#answers });
  }

  get state(): string {
    return [...this.#waiting].join(', ');
  }

  ask(
    message: Message,
    way: 'wait' | 'stream' | 'poll',
    push: TaskPushNotificationConfig | undefined,
  ): Promise<Outcome> {
    return this.#wait(`${way} for ${message.messageId}`, () => {
      if (way === 'wait') return this.#asking.andWait(message, push);
      return way === 'poll'
        ? this.#asking.andPoll(message, push)
        : this.#asking.andRead(message, push);
    });
  }

  /** Sends the message over the bus, and again as long as the outcome is unknown. */
  askByBus(message: Message, from: string): Promise<Outcome> {
    return this.#wait(`the bus for ${message.messageId}`, () => this.#asking.byBus(message, from));
  }

  cancel(taskId: string): Promise<void> {
    return this.#wait(`cancel of ${taskId}`, async () => {
      const { ledger, report, call } = this.#options;
      for (;;) {
        try {
          const task = await this.#attempts.request((engine, signal) =>
            engine.cancelTask({ id: taskId }, { ...call, signal }),
          );
          this.#answers.show(task.value, 'the answer to a cancel');
          if (task.value.status.state === 'TASK_STATE_CANCELED') return;
          report('a cancel is answered with the cancelled task', taskId);
        } catch (error) {
          const verdict = this.#attempts.judge(error);
          const account = ledger.logs.get(taskId);
          // It has ended, or nobody works on it who would have to be waited for.
          const isDue =
            account !== undefined && (isTerminal(account.state) || ledger.turns.isIdle(taskId));
          if (isSilent(error) && isDue) {
            this.#attempts.expectNews(account.changedAt, `the cancel of ${taskId}`);
          }
          if (verdict.kind === 'not-cancelable') {
            if (account !== undefined && isTerminal(account.state)) return;
            report('only what has ended cannot be cancelled', `${taskId}: ${account?.state}`);
          }
          if (verdict.kind === 'not-found' && account?.isGone === true) return;
          await this.#attempts.rest(error, verdict, 'again');
        }
      }
    });
  }

  /** All of a conversation's tasks, page by page. */
  list(contextId: string): Promise<readonly Task[]> {
    return this.#wait(`list of ${contextId}`, async () => {
      const { ledger, report, call } = this.#options;
      const found: Task[] = [];
      for (let pageToken = ''; ;) {
        const from = pageToken;
        const page = await this.#attempts.insist((engine) =>
          engine.listTasks({ contextId, pageSize: 3, pageToken: from }, call),
        );
        for (const task of page.tasks) {
          found.push(task);
          const account = ledger.logs.get(task.id);
          const wasTerminal = isTerminal(task.status.state);
          if (
            account?.contextId !== contextId ||
            (wasTerminal && account.state !== task.status.state)
          ) {
            report('a list shows what is there', `${task.id} as ${task.status.state}`);
          }
        }
        pageToken = page.nextPageToken;
        if (pageToken === '') return found;
      }
    });
  }

  async findUnfinished(contextId: string): Promise<string | undefined> {
    const tasks = await this.list(contextId);
    return tasks.find(({ status }) => !isTerminal(status.state))?.id;
  }

  createPush(config: TaskPushNotificationConfig): Promise<void> {
    return this.#wait('a push configuration', async () => {
      await this.#attempts.insist((engine) => engine.createPushConfig(config, this.#options.call));
    });
  }

  deletePush(taskId: string, id: string): Promise<void> {
    return this.#wait('a push configuration', () =>
      this.#attempts.insist((engine) =>
        engine.deletePushConfig({ taskId, id }, this.#options.call),
      ),
    );
  }

  async #wait<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#waiting.add(what);
    try {
      return await work();
    } finally {
      this.#waiting.delete(what);
    }
  }
}
