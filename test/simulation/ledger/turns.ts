import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  TurnRecord,
} from '../../../src/store/index.ts';
import { isTerminal } from '../../../src/protocol/index.ts';
import type { Report } from '../violation.ts';

/** What is known of one turn. */
export interface TurnAccount {
  readonly id: number;
  readonly key: string;
  readonly taskId: string;
  /** The message it answers; undefined for one that abandons its task. */
  readonly messageId: string | undefined;
  attempt: number;
  /** The replica it runs under; undefined while it is queued. */
  replica: string | undefined;
  /** When it ended. */
  endedAt: number | undefined;
  isEnded: boolean;
  /** The run of the agent that its events came from since it got its present owner. */
  run: number | undefined;
}

/**
 * Who may work on what. Rules: at most one turn of a key runs, the one admitted first; only its
 * owner writes for it; only what nobody alive runs is taken over; a message is let in once.
 */
export class TurnsLedger {
  readonly #report: Report;
  readonly #turns = new Map<number, TurnAccount>();
  readonly #queues = new Map<string, TurnAccount[]>();
  readonly #byTask = new Map<string, TurnAccount[]>();
  readonly #messages = new Map<string, TurnAccount>();
  readonly #byMessage = new Map<string, TurnAccount>();
  readonly #replicas = new Map<string, number>();
  readonly #now: () => number;
  readonly #isWell: (replica: string) => boolean;
  /** Turns admitted. */
  admitted = 0;

  /** `isWell`: whether nothing stands in the way of a replica. */
  constructor(report: Report, now: () => number, isWell: (replica: string) => boolean) {
    this.#report = report;
    this.#now = now;
    this.#isWell = isWell;
  }

  ofMessage(messageId: string): TurnAccount | undefined {
    return this.#byMessage.get(messageId);
  }

  open(): TurnAccount[] {
    return [...this.#queues.values()].flat();
  }

  /** Whether no turn of a task is open. */
  isIdle(taskId: string): boolean {
    return this.#byTask.get(taskId)?.every(({ isEnded }) => isEnded) ?? true;
  }

  heartbeat(replica: string, expiresAt: number): void {
    this.#replicas.set(replica, expiresAt);
  }

  retire(replica: string): void {
    this.#replicas.delete(replica);
  }

  admit(admission: Admission, outcome: AdmitOutcome, messageId: string | undefined): void {
    const { dedupe, owner } = admission;
    const name = dedupe && `${owner}\n${dedupe.key}`;
    const known = name === undefined ? undefined : this.#messages.get(name);
    if (outcome.kind === 'duplicate') {
      if (known?.taskId !== outcome.taskId || known.isEnded !== outcome.ended) {
        this.#report('a repeat finds its first', `${messageId} found ${outcome.taskId}`);
      }
      return;
    }
    if (outcome.kind !== 'admitted') return;
    if (known !== undefined) {
      this.#report('a message is let in once', `${messageId} for ${admission.taskId}`);
    }
    const { id, key, taskId } = outcome.turn;
    const queue = this.#queues.get(key) ?? [];
    this.#queues.set(key, queue);
    if (outcome.running !== (queue.length === 0)) {
      this.#report(
        'at most one turn of a key runs',
        `turn ${id} ${outcome.running ? 'runs beside others' : 'waits for nobody'} of ${key}`,
      );
    }
    const turn: TurnAccount = {
      id,
      key,
      taskId,
      messageId,
      attempt: 1,
      replica: outcome.running ? admission.replica : undefined,
      endedAt: undefined,
      isEnded: false,
      run: undefined,
    };
    this.admitted += 1;
    queue.push(turn);
    const ofTask = this.#byTask.get(taskId);
    if (ofTask === undefined) this.#byTask.set(taskId, [turn]);
    else ofTask.push(turn);
    this.#turns.set(id, turn);
    if (name !== undefined) this.#messages.set(name, turn);
    if (messageId !== undefined) this.#byMessage.set(messageId, turn);
  }

  /** Gives the turn that the append was written for. */
  append(append: Append, outcome: AppendOutcome): TurnAccount | undefined {
    const turn = append.turn && this.#turns.get(append.turn.id);
    const isOwner = turn !== undefined && !turn.isEnded && turn.replica === append.turn?.replica;
    if (outcome.kind === 'fenced' && isOwner) {
      this.#report('an owner is not fenced', `turn ${turn.id} of ${turn.replica}`);
    }
    if (outcome.kind !== 'appended') return undefined;
    if (append.turn !== undefined && !isOwner) {
      this.#report(
        'only the owner of a turn writes for it',
        `turn ${append.turn.id} belongs to ${turn?.replica}, and ${append.turn.replica} wrote`,
      );
    }
    const isOver = isTerminal(append.state) || append.reply !== undefined;
    let key: string | undefined;
    if (isOver) {
      for (const each of this.#byTask.get(append.taskId) ?? []) {
        if (each.isEnded) continue;
        this.#end(each);
        ({ key } = each);
      }
      this.#byTask.delete(append.taskId);
    } else if (append.endsTurn === true && turn !== undefined) {
      this.#end(turn);
      ({ key } = turn);
    }
    this.#follow(append, outcome.next, key);
    return turn;
  }

  takeOver(replica: string, now: number, taken: readonly TurnRecord[]): void {
    for (const { id, attempt } of taken) {
      const turn = this.#turns.get(id);
      if (turn === undefined || turn.isEnded || this.#queues.get(turn.key)?.[0] !== turn) {
        this.#report('only the first turn of a key is taken over', `turn ${id} by ${replica}`);
        continue;
      }
      const isAlive = turn.replica !== undefined && (this.#replicas.get(turn.replica) ?? 0) > now;
      if (isAlive && turn.replica !== replica) {
        this.#report('a turn of a live replica stays', `turn ${id} of ${turn.replica}`);
      }
      // Not even one that drains: it still lives, until it has said goodbye.
      const { replica: owner } = turn;
      const isThere = owner !== undefined && this.#replicas.has(owner) && this.#isWell(owner);
      if (isThere && owner !== replica) {
        this.#report('a turn stays with a replica that is well', `turn ${id} of ${turn.replica}`);
      }
      turn.attempt = attempt;
      this.#give(turn, replica);
    }
  }

  release(turnId: number, replica: string): void {
    const turn = this.#turns.get(turnId);
    if (turn !== undefined && !turn.isEnded && turn.replica === replica) {
      this.#give(turn, undefined);
    }
  }

  #follow(append: Append, next: TurnRecord | undefined, key: string | undefined): void {
    const head = key === undefined ? undefined : this.#queues.get(key)?.[0];
    const expected = head?.replica === undefined ? head : undefined;
    if (next?.id !== expected?.id) {
      this.#report(
        'the next turn of a key follows the one that ended',
        `${append.taskId}: ${next?.id} follows instead of ${expected?.id}`,
      );
    }
    if (expected !== undefined) this.#give(expected, append.replica);
  }

  #give(turn: TurnAccount, replica: string | undefined): void {
    turn.replica = replica;
    turn.run = undefined;
  }

  #end(turn: TurnAccount): void {
    turn.isEnded = true;
    turn.endedAt = this.#now();
    const queue = this.#queues.get(turn.key) ?? [];
    if (queue.length === 1) this.#queues.delete(turn.key);
    else queue.splice(queue.indexOf(turn), 1);
  }
}
