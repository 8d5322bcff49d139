import { useEffect } from 'preact/hooks';
import type { TaskSummary } from '../../../src/http/inspector/model.ts';
import { about } from '../api/about.ts';
import { onNotice } from '../api/live.ts';
import { PairView } from '../app/pair-view.tsx';
import { goTo, hrefOf, route } from '../app/route.ts';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { timeOf } from '../ui/text.ts';
import { WindowedList } from '../ui/windowed-list.tsx';
import { TaskDetail } from './task-detail.tsx';
import { loadMore, loadTasks, shownTasks, TaskFilters, taskPage } from './task-list.tsx';

/** The tasks of all callers, and the selected one. */
export function TasksView() {
  useEffect(() => {
    void loadTasks();
    return onNotice(({ tasks }) => {
      if (tasks !== undefined) void loadTasks();
    });
  }, []);
  const { id } = route.value;
  return (
    <PairView
      title="Tasks"
      extra={<span class="faint">{taskPage.value.value?.total ?? 0} in all</span>}
      list={<TaskList selectedId={id} />}
      detailLabel="Task"
      detail={
        id === undefined ? (
          <Empty icon="tasks" title="Select a task">
            <p class="soft">Its events, its wire format and its webhooks appear here.</p>
          </Empty>
        ) : (
          <TaskDetail key={id} taskId={id} />
        )
      }
    />
  );
}

function TaskList({ selectedId }: { readonly selectedId: string | undefined }) {
  const shown = shownTasks();
  return (
    <>
      <TaskFilters />
      <Problem text={taskPage.problem.value} />
      {shown.length === 0 ? (
        <Empty icon="tasks" title="No tasks">
          <p class="soft">
            {about.value?.target === undefined ? (
              <>
                <a href={hrefOf({ view: 'talk' })}>Send a message</a>, or change the filters.
              </>
            ) : (
              'The inspected agent keeps its tasks on its own server.'
            )}
          </p>
        </Empty>
      ) : (
        <WindowedList
          label="Tasks"
          count={shown.length}
          rowHeight={4}
          selected={shown.findIndex(({ id }) => id === selectedId)}
          onSelect={(index) => {
            const task = shown[index];
            if (task !== undefined) goTo({ view: 'tasks', id: task.id });
          }}
          rowKey={(index) => shown[index]?.id ?? index}
          row={(index) => <TaskRow task={shown[index]} />}
        />
      )}
      {taskPage.value.value?.next !== undefined && (
        <div class="pad">
          <Button kind="quiet" onClick={() => void loadMore()}>
            Load more
          </Button>
        </div>
      )}
    </>
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
