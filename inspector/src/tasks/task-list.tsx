import { signal } from '@preact/signals';
import type { TaskListView, TaskSummary } from '../../../src/http/inspector/model.ts';
import { type TaskState, taskStates } from '../../../src/protocol/index.ts';
import { get } from '../api/api.ts';
import { Resource } from '../api/resource.ts';
import { stateName } from '../ui/badge.tsx';
import { Select } from '../ui/field.tsx';

interface TaskFilter {
  readonly state: TaskState | '';
  readonly context: string;
  /** An owner key. */
  readonly owner: string;
  /** Minutes; 0 for all time. */
  readonly minutes: number;
  /** Words or an id, searched in the loaded tasks. */
  readonly text: string;
}

const noFilter: TaskFilter = { state: '', context: '', owner: '', minutes: 0, text: '' };
const filter = signal(noFilter);

/** The matching tasks that are loaded, newest first. */
export const taskPage: Resource<TaskListView> = new Resource();

/** Loads the matching tasks, as many as were loaded before, so that the list doesn't shrink. */
export async function loadTasks(): Promise<void> {
  const loaded = taskPage.value.peek()?.tasks.length ?? 0;
  const limit = Math.min(200, Math.max(50, loaded));
  await taskPage.load(() => get(`tasks?${queryOf({ limit })}`));
}

export async function loadMore(): Promise<void> {
  const { tasks = [], next } = taskPage.value.peek() ?? {};
  if (next === undefined) return;
  await taskPage.load(async () => {
    const page = await get<TaskListView>(`tasks?${queryOf({ limit: 100, after: next })}`);
    return { ...page, tasks: [...tasks, ...page.tasks] };
  });
}

function queryOf(page: Readonly<Record<string, string | number>>): URLSearchParams {
  const { state, context, owner, minutes } = filter.peek();
  const since = minutes > 0 ? Date.now() - minutes * 60_000 : '';
  const given = Object.entries({ state, context, owner, since, ...page });
  return new URLSearchParams(
    given.filter(([, value]) => value !== '').map(([name, value]) => [name, String(value)]),
  );
}

export function filterByContext(context: string): void {
  filter.value = { ...noFilter, context };
  void loadTasks();
}

/** The loaded tasks that contain the search words. */
export function shownTasks(): readonly TaskSummary[] {
  const tasks = taskPage.value.value?.tasks ?? [];
  const words = filter.value.text.trim().toLowerCase();
  if (words === '') return tasks;
  return tasks.filter(({ id, contextId, request, owner }) =>
    [id, contextId, request, owner.subject].some((text) => text.toLowerCase().includes(words)),
  );
}

const spans: readonly (readonly [minutes: number, title: string])[] = [
  [0, 'All time'],
  [15, 'Last 15 minutes'],
  [60, 'Last hour'],
  [1_440, 'Last day'],
  [10_080, 'Last week'],
];

/** The filters of the task list. */
export function TaskFilters() {
  const change = (part: Partial<TaskFilter>): void => {
    filter.value = { ...filter.peek(), ...part };
    // The text search filters the loaded tasks.
    if (Object.keys(part).join() !== 'text') void loadTasks();
  };
  const { state, context, owner, minutes, text } = filter.value;
  const tasks = taskPage.value.value?.tasks ?? [];
  const owners = new Map(tasks.map((task) => [task.owner.key, task.owner]));
  const isFiltered = JSON.stringify(filter.value) !== JSON.stringify(noFilter);
  return (
    <div class="filters" role="search">
      <input
        class="input"
        type="search"
        data-slash
        aria-label="Words or an id"
        placeholder="Search words or ids"
        value={text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <Select
        name="State"
        value={state}
        onChange={(wanted) => change({ state: wanted })}
        choices={[
          ['', 'Any state'],
          ...taskStates.slice(1).map((one) => [one, stateName(one)] as const),
        ]}
      />
      <Select
        name="Time"
        value={minutes}
        onChange={(wanted) => change({ minutes: wanted })}
        choices={spans}
      />
      <Select
        name="Caller"
        value={owner}
        onChange={(wanted) => change({ owner: wanted })}
        choices={[
          ['', 'Any caller'],
          ...owners.values().map(({ key, subject, tenant }) => {
            const who = subject || 'anonymous';
            return [key, tenant === '' ? who : `${who} (${tenant})`] as const;
          }),
        ]}
      />
      {context !== '' && (
        <button type="button" class="chip" onClick={() => change({ context: '' })}>
          context {context.slice(0, 12)} ✕
        </button>
      )}
      {isFiltered && (
        <button type="button" class="chip" onClick={() => change(noFilter)}>
          show all ✕
        </button>
      )}
    </div>
  );
}
