import { signal, type Signal } from '@preact/signals';
import type { EventsView, LoggedEvent } from '../../../src/http/inspector/model.ts';
import { isTerminal, LegateError, type StreamResponse, v1 } from '../../../src/protocol/index.ts';
import { eventsOf, get, path, reasonOf, request } from '../api/api.ts';
import { Breather } from '../api/breather.ts';
import { Changes } from '../api/changes.ts';
import { SequenceCheck } from '../wire/sequence-check.ts';
import { problemsOf } from '../wire/validate-frame.ts';

export type FollowState = 'loading' | 'following' | 'stopped' | 'over';

/**
 * The event log of one task. Loads its pages, then follows it until the task ends; `stop` disconnects,
 * `follow` resumes after the last event. Each event is checked once, on arrival.
 */
export class TaskLog extends Changes {
  readonly taskId: string;
  readonly events: LoggedEvent[] = [];
  /** The problems of each event, by its sequence number. */
  readonly problems = new Map<number, readonly string[]>();
  readonly state: Signal<FollowState> = signal('loading');
  readonly problem: Signal<string> = signal('');
  readonly #sequence = new SequenceCheck();
  readonly #breather = new Breather();
  #leaving = new AbortController();

  constructor(taskId: string) {
    super();
    this.taskId = taskId;
  }

  async follow(): Promise<void> {
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    this.state.value = 'loading';
    this.problem.value = '';
    try {
      await this.#load(signal);
      if (this.isOver) {
        this.state.value = 'over';
        return;
      }
      this.state.value = 'following';
      await this.#stream(signal);
      this.state.value = this.isOver ? 'over' : 'stopped';
    } catch (error) {
      this.state.value = 'stopped';
      if (signal.aborted) return;
      this.problem.value = reasonOf(error, 'the log cannot be read');
    }
  }

  stop(): void {
    this.#leaving.abort();
  }

  get isOver(): boolean {
    const last = this.events.at(-1)?.body;
    if (last === undefined) return false;
    if ('task' in last) return isTerminal(last.task.status.state);
    return 'statusUpdate' in last && isTerminal(last.statusUpdate.status.state);
  }

  async #load(signal: AbortSignal): Promise<void> {
    for (;;) {
      const after = this.#last;
      const query = `events?after=${after}&limit=2000`;
      const page = await get<EventsView>(path`tasks/${this.taskId}/` + query, signal);
      for (const event of page.events) {
        this.#add(event);
        await this.#breather.breathe();
      }
      if (page.events.length === 0 || this.#last >= page.version) return;
    }
  }

  async #stream(signal: AbortSignal): Promise<void> {
    const query = `stream?after=${this.#last}`;
    const response = await request(path`tasks/${this.taskId}/` + query, { signal });
    for await (const { id, data } of eventsOf(response.body)) {
      const sequence = Number(id);
      if (sequence > this.#last) this.#add({ sequence, body: JSON.parse(data) as StreamResponse });
      await this.#breather.breathe();
    }
  }

  get #last(): number {
    return this.events.at(-1)?.sequence ?? 0;
  }

  #add(event: LoggedEvent): void {
    this.events.push(event);
    const found = this.#judge(event.body);
    if (found.length > 0) this.problems.set(event.sequence, found);
    this.changed();
  }

  #judge(body: StreamResponse): readonly string[] {
    try {
      return this.#sequence.add(v1.streamResponse.decode(body));
    } catch (error) {
      if (error instanceof LegateError) return problemsOf(error);
      throw error;
    }
  }
}
