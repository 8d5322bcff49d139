import { isTerminal, type Message, type Task, type TaskState } from '../../src/protocol/index.ts';
import type { History } from './history.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Report } from './violation.ts';

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

/** What clients are told, held against the ledger. */
export class Answers {
  readonly #options: {
    readonly ledger: Ledger;
    readonly history: History;
    readonly report: Report;
  };

  constructor(options: { ledger: Ledger; history: History; report: Report }) {
    this.#options = options;
  }

  /** The outcome that a task shows for a message; undefined while it is being worked on. */
  settled(message: Message, task: Task): Outcome | undefined {
    const { state } = task.status;
    const isNoted = task.history?.some(({ messageId }) => messageId === message.messageId) === true;
    if (isTerminal(state) && !isNoted) return this.refused(message);
    if (!isNoted || (!isTerminal(state) && state !== 'TASK_STATE_INPUT_REQUIRED')) return undefined;
    return this.answered(message, { task: { value: task } });
  }

  answered(
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
    this.show(task, 'an answer');
    if (!task.history?.some((item) => item.messageId === messageId)) {
      report('an answered message is in its task', `${messageId}, answered with ${task.id}`);
    }
    if (state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_INPUT_REQUIRED') {
      ledger.effects.acknowledged(messageId, `${task.id} is ${state}`);
    }
    return { kind: 'task', taskId: task.id, contextId: task.contextId, state };
  }

  refused(message: Message): Outcome {
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
  show(task: Task, where: string): void {
    const { logs } = this.#options.ledger;
    const version = logs.get(task.id)?.events.length ?? 0;
    if (isTerminal(task.status.state)) logs.showTask(task.id, version, task, where);
  }
}
