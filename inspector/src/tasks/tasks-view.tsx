import { useEffect } from 'preact/hooks';
import type { TaskSummary } from '../../../src/http/inspector/model.ts';
import { onNotice } from '../api/live.ts';
import { goTo, hrefOf, route } from '../app/route.ts';
import { Button } from '../ui/button.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { timeOf } from '../ui/time.ts';
import { WindowedList } from '../ui/windowed-list.tsx';
import { TaskDetail } from './task-detail.tsx';
import { TaskFilters } from './task-filters.tsx';
import { listProblem, loadMore, loadTasks, next, shownTasks, total } from './task-list.ts';

/** The tasks of all callers, and the selected one. */
export function TasksView() {
  useEffect(() => {
    void loadTasks();
    return onNotice(({ tasks }) => {
      if (tasks !== undefined) void loadTasks();
    });
  }, []);
  const { id } = route.value;
  const shown = shownTasks();
  return (
    <div class={id === undefined ? 'pair-view' : 'pair-view has-choice'}>
      <section class="pair-list" aria-label="Tasks">
        <div class="view-bar">
          <h1>Tasks</h1>
          <span class="faint">{total.value} in all</span>
        </div>
        <TaskFilters />
        <Problem text={listProblem.value} />
        {shown.length === 0 ? (
          <Empty icon="tasks" title="No tasks">
            <p class="soft">
              <a href={hrefOf({ view: 'talk' })}>Say something</a>, or show more than the filters
              let through.
            </p>
          </Empty>
        ) : (
          <WindowedList
            label="Tasks"
            count={shown.length}
            rowHeight={4}
            selected={shown.findIndex((task) => task.id === id)}
            onSelect={(index) => {
              const task = shown[index];
              if (task !== undefined) goTo({ view: 'tasks', id: task.id });
            }}
            rowKey={(index) => shown[index]?.id ?? index}
            row={(index) => <TaskRow task={shown[index]} />}
          />
        )}
        {next.value !== undefined && (
          <div class="pad">
            <Button kind="quiet" onClick={() => void loadMore()}>
              Load more
            </Button>
          </div>
        )}
      </section>
      <section class="pair-detail" aria-label="Task">
        {id === undefined ? (
          <Empty icon="tasks" title="Choose a task">
            <p class="soft">Its events, its wire and its webhooks show up here.</p>
          </Empty>
        ) : (
          <TaskDetail key={id} taskId={id} />
        )}
      </section>
    </div>
  );
}

function TaskRow({ task }: { readonly task: TaskSummary | undefined }) {
  if (task === undefined) return null;
  return (
    <div class="task-row">
      <span class="task-row-title">{task.request || task.id}</span>
      <span class="task-row-facts">
        <StateBadge state={task.state} />
        <span class="faint">{task.owner.subject || 'anonymous'}</span>
        <span class="faint">{task.version} events</span>
        <span class="grow" />
        <time class="faint">{timeOf(task.statusTime)}</time>
      </span>
    </div>
  );
}
