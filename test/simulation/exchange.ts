import {
  isTerminal,
  LegateError,
  type Message,
  type Task,
  type TaskPushNotificationConfig,
  type TaskState,
} from '../../src/protocol/index.ts';
import type { Call, Engine } from '../../src/tasks/index.ts';
import type { BusClient } from './bus-client.ts';
import type { History } from './history.ts';
import type { Ledger } from './ledger/ledger.ts';
import { nextVisible } from './ledger/logs.ts';
import { ConnectionLost, type Network, type Subscription } from './network.ts';
import type { Random } from './random.ts';
import type { Report } from './violation.ts';
import type { Lane } from './virtual-time.ts';

/** What became of a message, as its sender was told. */
export type Outcome =
  | {
      readonly kind: 'task';
      readonly taskId: string;
      readonly contextId: string;
      readonly state: TaskState;
    }
  | { readonly kind: 'message'; readonly contextId: string | undefined }
  /** The task that it was meant for had ended. */
  | { readonly kind: 'refused' };

export interface ExchangeOptions {
  readonly network: Network;
  readonly ledger: Ledger;
  readonly history: History;
  readonly random: Random;
  readonly outside: Lane;
  readonly report: Report;
  readonly call: Call;
  readonly busClient: BusClient | undefined;
}

/** What a client does when a request did not work out. */
type Verdict =
  | { readonly kind: 'again' }
  | { readonly kind: 'in-flight'; readonly taskId: string | undefined }
  | { readonly kind: 'ended' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'not-cancelable' };

/**
 * Requests that are made until they have an answer: whatever breaks is tried again, by the rules a
 * careful client follows (the same message id, resuming after the last event seen). Every answer is
 * held against the ledger.
 */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #waiting = new Set<string>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
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
      if (way === 'wait') return this.#askAndWait(message, push);
      return way === 'poll' ? this.#askAndPoll(message, push) : this.#askAndRead(message, push);
    });
  }

  /** Sends the message over the bus, and again as long as nobody says what came of it. */
  askByBus(message: Message, from: string): Promise<Outcome> {
    return this.#wait(`the bus for ${message.messageId}`, async () => {
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
            ? this.#answered(message, { task: { value: result.task } })
            : this.#answered(message, { message: { value: result.message } });
        }
        const verdict = this.#judge(answer.error);
        if (verdict.kind === 'ended') return this.#refused(message);
        await this.#rest(answer.error, verdict, 'again');
      }
    });
  }

  cancel(taskId: string): Promise<void> {
    return this.#wait(`cancel of ${taskId}`, async () => {
      const { ledger, report, call } = this.#options;
      for (;;) {
        try {
          const task = await this.#request((engine, signal) =>
            engine.cancelTask({ id: taskId }, { ...call, signal }),
          );
          this.#show(task.value, 'the answer to a cancel');
          if (task.value.status.state === 'TASK_STATE_CANCELED') return;
          report('a cancel is answered with the cancelled task', taskId);
        } catch (error) {
          const verdict = this.#judge(error);
          const account = ledger.logs.get(taskId);
          // It has ended, or nobody works on it who would have to be waited for.
          const isDue =
            account !== undefined && (isTerminal(account.state) || ledger.turns.isIdle(taskId));
          if (isSilent(error) && isDue) {
            this.#expectNews(account.changedAt, `the cancel of ${taskId}`);
          }
          if (verdict.kind === 'not-cancelable') {
            if (account !== undefined && isTerminal(account.state)) return;
            report('only what has ended cannot be cancelled', `${taskId}: ${account?.state}`);
          }
          if (verdict.kind === 'not-found' && account?.isGone === true) return;
          await this.#rest(error, verdict, 'again');
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
        const page = await this.#insist((engine) =>
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
      await this.#insist((engine) => engine.createPushConfig(config, this.#options.call));
    });
  }

  deletePush(taskId: string, id: string): Promise<void> {
    return this.#wait('a push configuration', () =>
      this.#insist((engine) => engine.deletePushConfig({ taskId, id }, this.#options.call)),
    );
  }

  async #askAndWait(
    message: Message,
    push: TaskPushNotificationConfig | undefined,
  ): Promise<Outcome> {
    const request = this.#sendRequest(message, push, false);
    for (;;) {
      try {
        const { call } = this.#options;
        const outcome = await this.#request((engine, signal) =>
          engine.send(request, { ...call, signal }),
        );
        return this.#answered(message, outcome);
      } catch (error) {
        const verdict = this.#judge(error);
        if (verdict.kind === 'ended') return this.#refused(message);
        if (isSilent(error)) {
          const turn = this.#options.ledger.turns.ofMessage(message.messageId);
          this.#expectNews(turn?.endedAt, `the answer to ${message.messageId}`);
        }
        await this.#rest(error, verdict, 'again', 'in-flight');
      }
    }
  }

  async #askAndPoll(
    message: Message,
    push: TaskPushNotificationConfig | undefined,
  ): Promise<Outcome> {
    const request = this.#sendRequest(message, push, true);
    for (;;) {
      try {
        const { call } = this.#options;
        const outcome = await this.#request((engine, signal) =>
          engine.send(request, { ...call, signal }),
        );
        if ('message' in outcome) return this.#answered(message, outcome);
        return await this.#poll(message, outcome.task.value.id);
      } catch (error) {
        const verdict = this.#judge(error);
        if (verdict.kind === 'ended') return this.#refused(message);
        if (verdict.kind === 'in-flight' && verdict.taskId !== undefined) {
          const polled = await this.#poll(message, verdict.taskId);
          if (polled.kind !== 'refused' || message.taskId !== undefined) return polled;
        }
        await this.#rest(error, verdict, 'again', 'in-flight');
      }
    }
  }

  /** Looks at the task until the message was handled. */
  async #poll(message: Message, taskId: string): Promise<Outcome> {
    const { outside, random, call } = this.#options;
    for (;;) {
      try {
        const task = await this.#request((engine) => engine.getTask({ id: taskId }, call));
        const settled = this.#settled(message, task.value);
        if (settled !== undefined) return settled;
      } catch (error) {
        const verdict = this.#judge(error);
        // Answered with a plain message: only the repeated message finds it.
        if (verdict.kind === 'not-found') return { kind: 'refused' };
        await this.#rest(error, verdict, 'again');
      }
      await outside.sleep(random.between(5, 100));
    }
  }

  async #askAndRead(
    message: Message,
    push: TaskPushNotificationConfig | undefined,
  ): Promise<Outcome> {
    const request = this.#sendRequest(message, push, false);
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
        const verdict = this.#judge(error);
        if (verdict.kind === 'ended') return this.#refused(message);
        if (verdict.kind === 'not-found' && message.taskId === undefined) {
          // A plain message took its place, which the next try finds.
          reading = undefined;
        } else if (verdict.kind === 'in-flight' && random.chance(0.5)) {
          reading = { taskId: verdict.taskId, last: 0 };
        } else await this.#rest(error, verdict, 'again', 'in-flight');
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
        const verdict = this.#judge(error);
        if (verdict.kind === 'not-found') return undefined;
        if (verdict.kind === 'ended') return this.#poll(message, id);
        await this.#rest(error, verdict, 'again');
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
        if ('message' in body) return this.#answered(message, { message: { value: body.message } });
        if ('task' in body) {
          reading.taskId = body.task.id;
          if (event.sequence === 0) return this.#answered(message, { task: { value: body.task } });
          ledger.logs.showTask(body.task.id, event.sequence, body.task, 'a stream');
          const settled = this.#settled(message, body.task);
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
      this.#expectNews(account.changedAt, `the stream of ${taskId} after ${last}`);
    }
  }

  #expectNews(at: number | undefined, what: string): void {
    const { ledger, report } = this.#options;
    if (ledger.isOldNews(at)) report('whoever waits is told in time', `${what} did not come`);
  }

  /** What the message has come to, if anything yet. */
  async #glance(message: Message, taskId: string): Promise<Outcome | undefined> {
    const task = await this.#insist((engine) => engine.getTask({ id: taskId }, this.#options.call));
    return this.#settled(message, task.value);
  }

  /** The outcome that a task shows for a message; undefined while it is being worked on. */
  #settled(message: Message, task: Task): Outcome | undefined {
    const { state } = task.status;
    const isNoted = task.history?.some(({ messageId }) => messageId === message.messageId) === true;
    if (isTerminal(state) && !isNoted) return this.#refused(message);
    if (!isNoted || (!isTerminal(state) && state !== 'TASK_STATE_INPUT_REQUIRED')) return undefined;
    return this.#answered(message, { task: { value: task } });
  }

  #answered(
    message: Message,
    answer: { readonly task: { value: Task } } | { readonly message: { value: Message } },
  ): Outcome {
    const { ledger, report, history } = this.#options;
    const { messageId } = message;
    if ('message' in answer) {
      history.note('client', () => `${messageId} was answered with a message`);
      ledger.effects.acknowledged(messageId, 'answered with a message');
      return { kind: 'message', contextId: answer.message.value.contextId };
    }
    const { value: task } = answer.task;
    const { state } = task.status;
    history.note('client', () => `${messageId} was answered: ${task.id} is ${state}`);
    this.#show(task, 'an answer');
    if (!task.history?.some((item) => item.messageId === messageId)) {
      report('an answered message is in its task', `${messageId}, answered with ${task.id}`);
    }
    if (state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_INPUT_REQUIRED') {
      ledger.effects.acknowledged(messageId, `${task.id} is ${state}`);
    }
    return { kind: 'task', taskId: task.id, contextId: task.contextId, state };
  }

  #refused(message: Message): Outcome {
    const { ledger, history, report } = this.#options;
    history.note('client', () => `${message.messageId} was refused`);
    const account = ledger.logs.get(message.taskId ?? '');
    if (account === undefined || !isTerminal(account.state)) {
      report('only a message to an ended task is refused', message.messageId);
    }
    ledger.effects.refused(message.messageId);
    return { kind: 'refused' };
  }

  /** What has ended does not change, so it must be what the log says. */
  #show(task: Task, where: string): void {
    const { logs } = this.#options.ledger;
    const version = logs.get(task.id)?.events.length ?? 0;
    if (isTerminal(task.status.state)) logs.showTask(task.id, version, task, where);
  }

  #sendRequest(
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

  #request<T>(work: (engine: Engine, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#options.network.request(this.#options.random, work);
  }

  /** Tries until it works. */
  async #insist<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#request(work);
      } catch (error) {
        await this.#rest(error, this.#judge(error), 'again');
      }
    }
  }

  #judge(error: unknown): Verdict {
    if (error instanceof ConnectionLost) return { kind: 'again' };
    if (error instanceof LegateError) {
      switch (error.code) {
        case 'STORE_FAILED':
        case 'UNAVAILABLE':
          return { kind: 'again' };
        case 'MESSAGE_IN_FLIGHT':
          return { kind: 'in-flight', taskId: error.metadata?.['taskId'] };
        case 'UNSUPPORTED_OPERATION':
          return { kind: 'ended' };
        case 'TASK_NOT_FOUND':
          return { kind: 'not-found' };
        case 'TASK_NOT_CANCELABLE':
          return { kind: 'not-cancelable' };
        default:
          break;
      }
    }
    this.#options.report(
      'clients get errors that they can act on',
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
    return { kind: 'again' };
  }

  /** Waits a moment before the next try. Whatever is not `expected` is a surprise. */
  async #rest(error: unknown, verdict: Verdict, ...expected: Verdict['kind'][]): Promise<void> {
    const { outside, random, report } = this.#options;
    if (!expected.includes(verdict.kind)) {
      report('clients get errors that they can act on', `${verdict.kind}: ${String(error)}`);
    }
    const isPatient = verdict.kind === 'in-flight';
    await outside.sleep(random.between(5, isPatient ? 300 : 100));
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

function isSilent(error: unknown): boolean {
  return error instanceof ConnectionLost && error.isSilence;
}

interface Reading {
  taskId: string | undefined;
  /** The number of the last event seen. */
  last: number;
}
