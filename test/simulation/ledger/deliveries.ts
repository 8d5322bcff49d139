import type { LogEvent } from '../../../src/store/index.ts';
import type { Report } from '../violation.ts';
import type { TaskAccount } from './logs.ts';

interface Owed {
  readonly task: TaskAccount;
  readonly configId: string;
  /** Numbers of the events, in order. */
  readonly sequences: number[];
  /** How many of them have arrived. */
  arrived: number;
}

/**
 * What webhooks are owed. Rules: every event arrives at least once; the first arrivals of a
 * configuration's events come in the order of the events.
 */
export class Deliveries {
  readonly #report: Report;
  readonly #byTask = new Map<string, Map<string, Owed>>();
  /** Configurations that wait for something. */
  readonly #open = new Set<Owed>();

  constructor(report: Report) {
    this.#report = report;
  }

  get isSettled(): boolean {
    return this.#open.size === 0;
  }

  register(task: TaskAccount, configId: string): void {
    let configs = this.#byTask.get(task.id);
    if (configs === undefined) this.#byTask.set(task.id, (configs = new Map()));
    if (!configs.has(configId))
      configs.set(configId, { task, configId, sequences: [], arrived: 0 });
  }

  remove(taskId: string, configId: string): void {
    const owed = this.#byTask.get(taskId)?.get(configId);
    if (owed !== undefined) this.#open.delete(owed);
    this.#byTask.get(taskId)?.delete(configId);
  }

  forget(taskId: string): void {
    for (const owed of this.#byTask.get(taskId)?.values() ?? []) this.#open.delete(owed);
    this.#byTask.delete(taskId);
  }

  /** True when anything is owed. */
  owe(taskId: string, events: readonly LogEvent[]): boolean {
    const configs = this.#byTask.get(taskId);
    if (configs === undefined || configs.size === 0) return false;
    const visible = events.filter(({ body }) => !('message' in body.value));
    for (const owed of configs.values()) {
      for (const { sequence } of visible) owed.sequences.push(sequence);
      if (owed.arrived < owed.sequences.length) this.#open.add(owed);
    }
    return visible.length > 0;
  }

  arrive(taskId: string, configId: string, sequence: number, body: string | undefined): void {
    const owed = this.#byTask.get(taskId)?.get(configId);
    // Made before its configuration or its task went: too late to hold it back.
    if (owed === undefined) return;
    const index = owed.sequences.indexOf(sequence);
    if (index === -1) {
      this.#report('only what is owed is delivered', `${taskId}/${configId}/${sequence}`);
    } else if (index > owed.arrived) {
      this.#report(
        'deliveries come in order',
        `${taskId}/${configId}: ${sequence} came before ${owed.sequences[owed.arrived]}`,
      );
    }
    if (body !== undefined && body !== owed.task.events[sequence - 1]?.body.text) {
      this.#report('a delivery is what is in the log', `${taskId}/${sequence}: ${body}`);
    }
    if (index === owed.arrived) owed.arrived += 1;
    if (owed.arrived === owed.sequences.length) this.#open.delete(owed);
  }

  check(): void {
    for (const { task, configId, sequences, arrived } of this.#open) {
      this.#report(
        'every delivery arrives',
        `${task.id}/${configId}: ${sequences.slice(arrived).join()} did not`,
      );
    }
  }
}
