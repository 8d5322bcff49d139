import { signal, type Signal } from '@preact/signals';
import type { EventsView } from '../../../src/http/inspector/model.ts';
import { isTerminal, type StreamResponse, taskStatusOf, v1 } from '../../../src/protocol/index.ts';
import { eventsOf, get, jsonOf, path, reasonOf, request } from '../api/api.ts';
import { Changes, TimeSlice } from '../api/changes.ts';
import { checkedBy, SequenceCheck } from '../wire/checks.ts';
import { eventSummary, type ListedEvent } from '../wire/event-list.tsx';

/** One event of the log; its number is the sequence number. */
export interface LogEvent extends ListedEvent {
  readonly body: StreamResponse;
}

/**
 * The event log of one task. Loads its pages, then follows it until the task ends. `stop` disconnects,
 * `follow` resumes after the last event. Each event is checked once, on arrival.
 */
export class TaskLog extends Changes {
  readonly taskId: string;
  readonly events: LogEvent[] = [];
  /** Number of invalid events. */
  faults = 0;
  readonly state: Signal<'loading' | 'following' | 'stopped' | 'over'> = signal('loading');
  readonly problem: Signal<string> = signal('');
  readonly #sequence = new SequenceCheck();
  readonly #slice = new TimeSlice();
  #stopping = new AbortController();

  constructor(taskId: string) {
    super();
    this.taskId = taskId;
  }

  async follow(): Promise<void> {
    this.#stopping = new AbortController();
    const { signal: stopped } = this.#stopping;
    this.state.value = 'loading';
    this.problem.value = '';
    try {
      await this.#load(stopped);
      if (!this.#isOver) {
        this.state.value = 'following';
        await this.#stream(stopped);
      }
      this.state.value = this.#isOver ? 'over' : 'stopped';
    } catch (error) {
      this.state.value = 'stopped';
      if (!stopped.aborted) this.problem.value = reasonOf(error);
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  get #isOver(): boolean {
    const last = this.events.at(-1)?.body;
    const status = last && taskStatusOf(last);
    return status !== undefined && isTerminal(status.state);
  }

  async #load(stopped: AbortSignal): Promise<void> {
    for (;;) {
      const query = `events?after=${this.#last}&limit=2000`;
      const page = await get<EventsView>(path`tasks/${this.taskId}/` + query, stopped);
      for (const { sequence, body } of page.events) await this.#add(sequence, body);
      if (page.events.length === 0 || this.#last >= page.version) return;
    }
  }

  async #stream(stopped: AbortSignal): Promise<void> {
    const query = `stream?after=${this.#last}`;
    const response = await request(path`tasks/${this.taskId}/` + query, { signal: stopped });
    for await (const { id, data } of eventsOf(response.body)) {
      if (Number(id) > this.#last) await this.#add(Number(id), jsonOf<StreamResponse>(data));
    }
  }

  get #last(): number {
    return this.events.at(-1)?.number ?? 0;
  }

  async #add(number: number, body: StreamResponse): Promise<void> {
    const { problems, event } = checkedBy(() => v1.streamResponse.decode(body));
    const listed =
      event === undefined
        ? { problems, summary: undefined }
        : { problems: this.#sequence.add(event), summary: eventSummary(event) };
    this.events.push({ number, body, ...listed });
    if (listed.problems.length > 0) this.faults += 1;
    this.changed();
    await this.#slice.yieldToBrowser();
  }
}
