import { taskStates } from '../../../src/protocol/index.ts';
import { Select } from '../ui/field.tsx';
import { stateName } from '../ui/task-state.ts';
import { filter, loadTasks, noFilter, type TaskFilter, tasks } from './task-list.ts';

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
  const owners = new Map(tasks.value.map((task) => [task.owner.key, task.owner]));
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
