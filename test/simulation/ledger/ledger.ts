import { isTerminal, type Message } from '../../../src/protocol/index.ts';
import type { Admission, AdmitOutcome, Append, AppendOutcome } from '../../../src/store/index.ts';
import type { AgentTraits } from '../plan.ts';
import type { Report } from '../violation.ts';
import { Deliveries } from './deliveries.ts';
import { Effects } from './effects.ts';
import { Logs } from './logs.ts';
import { Runs } from './runs.ts';
import { TurnsLedger } from './turns.ts';

/** Milliseconds within which news reach everybody, with or without a notice. */
const newsDelay = 1_500;

/**
 * Everything that happened, as seen from the store and from outside, kept apart from what it judges:
 * each step is held against the rules when it is made.
 */
export class Ledger {
  readonly logs: Logs;
  readonly turns: TurnsLedger;
  readonly effects: Effects;
  readonly runs: Runs;
  readonly deliveries: Deliveries;
  readonly #report: Report;

  readonly #now: () => number;

  constructor(options: {
    readonly report: Report;
    readonly traits: AgentTraits;
    readonly now: () => number;
    /** Whether nothing stands in the way of a replica. */
    readonly isWell: (replica: string) => boolean;
  }) {
    const { report, traits, now, isWell } = options;
    this.#report = report;
    this.#now = now;
    this.logs = new Logs(report, now);
    this.turns = new TurnsLedger(report, now, isWell);
    this.effects = new Effects(report, traits);
    this.runs = new Runs(report);
    this.deliveries = new Deliveries(report);
  }

  admit(admission: Admission, outcome: AdmitOutcome): void {
    const { task, taskId, push } = admission;
    const request = admission.request.value as unknown as { readonly message?: Message };
    const message = task === undefined ? request.message : task.value.history?.[0];
    this.turns.admit(admission, outcome, message?.messageId);
    if (outcome.kind !== 'admitted') return;
    if (task !== undefined) {
      const account = this.logs.create(admission, task.value);
      if (push === undefined) return;
      this.deliveries.register(account, push.config.id);
      this.deliveries.owe(taskId, account.events);
      return;
    }
    const account = this.logs.get(taskId);
    if (account === undefined || account.isGone || isTerminal(account.state)) {
      this.#report('only an unfinished task is continued', `${taskId}: ${account?.state}`);
    }
  }

  append(append: Append, outcome: AppendOutcome): void {
    const task = this.logs.append(append, outcome);
    const turn = this.turns.append(append, outcome);
    if (outcome.kind !== 'appended' || task === undefined) return;
    this.effects.append(append, turn);
    this.runs.append(append, turn);
    if (task.isGone) this.deliveries.forget(task.id);
    else if (this.deliveries.owe(task.id, append.events) !== outcome.deliveries) {
      this.#report('an append reports deliveries', task.id);
    }
  }

  requestCancel(taskId: string, isMarked: boolean): void {
    const task = this.logs.get(taskId);
    const isOpen = task !== undefined && !task.isGone && !isTerminal(task.state);
    if (isMarked !== isOpen) this.#report('an unfinished task can be marked', taskId);
    if (task !== undefined && isMarked) task.cancelRequested = true;
  }

  /** Whether every live replica must have heard of an event of that time. */
  isOldNews(at: number | undefined): boolean {
    return at !== undefined && this.#now() - at > newsDelay;
  }

  /** What must hold once nothing is left to do. */
  close(): void {
    for (const turn of this.turns.open()) {
      this.#report(
        'every turn ends',
        `turn ${turn.id} of ${turn.taskId} (attempt ${turn.attempt}) is ${turn.replica === undefined ? 'queued' : `running under ${turn.replica}`}`,
      );
    }
    for (const task of this.logs.all()) {
      const rests = task.state === 'TASK_STATE_INPUT_REQUIRED' && !task.cancelRequested;
      if (task.isGone || isTerminal(task.state) || rests) continue;
      this.#report(
        'every task ends or asks for input',
        `${task.id} is ${task.state}${task.cancelRequested ? ', to be cancelled' : ''}`,
      );
    }
    this.deliveries.check();
  }
}
