import { taskStates } from '../../../src/protocol/index.ts';
import { stateName } from '../ui/task-state.ts';
import { filter, loadTasks, noFilter, type TaskFilter, tasks } from './task-list.ts';

const spans: readonly (readonly [minutes: number, title: string])[] = [
  [0, 'All time'],
  [15, 'Last 15 minutes'],
  [60, 'Last hour'],
  [1_440, 'Last day'],
  [10_080, 'Last week'],
];

/** Which tasks are listed. */
export function TaskFilters() {
  const change = (part: Partial<TaskFilter>): void => {
    filter.value = { ...filter.peek(), ...part };
    // Words are looked for in what is there already.
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
      <select
        class="input"
        aria-label="State"
        value={state}
        onChange={({ currentTarget }) =>
          change({ state: taskStates.find((one) => one === currentTarget.value) ?? '' })
        }
      >
        <option value="">Any state</option>
        {taskStates.slice(1).map((one) => (
          <option key={one} value={one}>
            {stateName(one)}
          </option>
        ))}
      </select>
      <select
        class="input"
        aria-label="Time"
        value={minutes}
        onChange={(event) => change({ minutes: Number(event.currentTarget.value) })}
      >
        {spans.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
      <select
        class="input"
        aria-label="Caller"
        value={owner}
        onChange={(event) => change({ owner: event.currentTarget.value })}
      >
        <option value="">Any caller</option>
        {Array.from(owners.values(), ({ key, subject, tenant }) => (
          <option key={key} value={key}>
            {subject || 'anonymous'}
            {tenant !== '' && ` (${tenant})`}
          </option>
        ))}
      </select>
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
