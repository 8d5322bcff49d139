import type { Append } from '../../../src/store/index.ts';
import type { Report } from '../violation.ts';
import type { TurnAccount } from './turns.ts';

/** One time that an agent took a turn. */
export interface AgentRun {
  readonly id: number;
  readonly replica: string;
  readonly key: string;
  readonly taskId: string;
  readonly signal: AbortSignal;
}

/**
 * What agents do. Rules: a process has at most one run of a key that it did not tell to stop; the
 * events that a turn gets from one owner come from one run.
 */
export class Runs {
  readonly #report: Report;
  readonly #live = new Map<string, Set<AgentRun>>();
  #last = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  begin(run: Omit<AgentRun, 'id'>): AgentRun {
    this.#last += 1;
    const begun = { ...run, id: this.#last };
    const place = placeOf(run);
    const others = this.#live.get(place) ?? new Set();
    this.#live.set(place, others);
    for (const other of others) {
      if (other.signal.aborted) continue;
      this.#report(
        'a process works on one turn of a key at a time',
        `${run.replica} runs ${other.taskId} and ${run.taskId}`,
      );
    }
    others.add(begun);
    return begun;
  }

  end(run: AgentRun): void {
    const place = placeOf(run);
    const runs = this.#live.get(place);
    runs?.delete(run);
    if (runs?.size === 0) this.#live.delete(place);
  }

  append({ events, taskId }: Append, turn: TurnAccount | undefined): void {
    if (turn === undefined) return;
    for (const { body } of events) {
      const event = body.value;
      const run = 'artifactUpdate' in event ? event.artifactUpdate.artifact.metadata?.['run'] : 0;
      if (typeof run !== 'number' || run === 0) continue;
      turn.run ??= run;
      if (turn.run !== run) {
        this.#report(
          'an owner writes the events of one run',
          `${taskId}: runs ${turn.run} and ${run} of ${turn.replica}`,
        );
      }
    }
  }
}

function placeOf({ replica, key }: { readonly replica: string; readonly key: string }): string {
  return `${replica}\n${key}`;
}
