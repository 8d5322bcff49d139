import { signal } from '@preact/signals';
import type { TaskListView, TaskSummary } from '../../../src/http/inspector/model.ts';
import type { TaskState } from '../../../src/protocol/index.ts';
import { get, reasonOf } from '../api/api.ts';

export interface TaskFilter {
  readonly state: TaskState | '';
  readonly context: string;
  /** An owner key. */
  readonly owner: string;
  /** Minutes; 0 for all time. */
  readonly minutes: number;
  /** Words or an id, searched in the loaded tasks. */
  readonly text: string;
}

export const noFilter: TaskFilter = { state: '', context: '', owner: '', minutes: 0, text: '' };

export const filter = signal<TaskFilter>(noFilter);
export const tasks = signal<readonly TaskSummary[]>([]);
export const total = signal(0);
export const next = signal<string | undefined>(undefined);
export const listProblem = signal('');
let asked = 0;

/** The matching tasks, newest first; reloads as many as were loaded before, so that nothing jumps. */
export async function loadTasks(): Promise<void> {
  const limit = Math.min(200, Math.max(50, tasks.peek().length));
  await load(limit, undefined);
}

export async function loadMore(): Promise<void> {
  if (next.peek() !== undefined) await load(100, next.peek());
}

async function load(limit: number, after: string | undefined): Promise<void> {
  asked += 1;
  const mine = asked;
  const { state, context, owner, minutes } = filter.peek();
  const query = new URLSearchParams({ limit: String(limit) });
  if (state !== '') query.set('state', state);
  if (context !== '') query.set('context', context);
  if (owner !== '') query.set('owner', owner);
  if (minutes > 0) query.set('since', String(Date.now() - minutes * 60_000));
  if (after !== undefined) query.set('after', after);
  try {
    const page = await get<TaskListView>(`tasks?${query}`);
    // The answer to an outdated query.
    if (mine !== asked) return;
    tasks.value = after === undefined ? page.tasks : [...tasks.peek(), ...page.tasks];
    total.value = page.total;
    next.value = page.next;
    listProblem.value = '';
  } catch (error) {
    listProblem.value = reasonOf(error, 'the tasks could not be loaded');
  }
}

/** The loaded tasks that contain the search words. */
export function shownTasks(): readonly TaskSummary[] {
  const words = filter.value.text.trim().toLowerCase();
  if (words === '') return tasks.value;
  return tasks.value.filter(({ id, contextId, request, owner }) =>
    [id, contextId, request, owner.subject].some((text) => text.toLowerCase().includes(words)),
  );
}
