import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { TaskView } from '../../../src/http/inspector/model.ts';
import { isTerminal, type Message } from '../../../src/protocol/index.ts';
import { ownAgent } from '../api/about.ts';
import { path, post } from '../api/api.ts';
import { useAction, useLive } from '../api/resource.ts';
import { Back } from '../app/pair-view.tsx';
import { goTo } from '../app/route.ts';
import { AssistantPanel, assistantTabs, type AssistantTab } from '../assistant/assistant-panel.tsx';
import { TaskPush } from '../push/push-lists.tsx';
import { StepsTab } from '../steps/steps-tab.tsx';
import { openContext, startTalk } from '../talk/talks.ts';
import { ownTarget } from '../talk/target.ts';
import { Button, Id } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Notice, Problem } from '../ui/notice.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { type Tab, Tabs } from '../ui/tabs.tsx';
import { timeOf } from '../ui/text.ts';
import { TaskLog } from './task-log.ts';
import { filterByContext } from './task-list.tsx';
import { TaskWire } from './task-wire.tsx';
import { Timeline } from './timeline.tsx';

type DetailTab = 'timeline' | 'steps' | 'wire' | 'task' | 'push' | AssistantTab;

/** One task: its history, and the operations on it. */
export function TaskDetail({ taskId }: { readonly taskId: string }) {
  const log = useMemo(() => new TaskLog(taskId), [taskId]);
  const [tab, setTab] = useState<DetailTab>('timeline');
  const { value, problem, reload } = useLive<TaskView>(path`tasks/${taskId}`, ({ tasks = [] }) =>
    tasks.some(({ id }) => id === taskId),
  );
  useEffect(() => {
    void log.follow();
    return () => log.stop();
  }, [log]);
  if (value === undefined) {
    return (
      <>
        <Back view="tasks" />
        {problem === '' ? (
          <div class="pad faint">Loading</div>
        ) : (
          <Notice tone="bad">{problem}</Notice>
        )}
      </>
    );
  }
  const { contextId, owner } = value.summary;
  const agent = ownAgent(owner.agent);
  const tabs: readonly Tab<DetailTab>[] = [
    { name: 'timeline', title: 'Timeline', count: log.current().faults },
    ...(agent?.isAssistant === true ? [] : [{ name: 'steps', title: 'Steps' } as const]),
    { name: 'wire', title: 'Wire' },
    ...(agent?.isAssistant === true ? assistantTabs : []),
    { name: 'task', title: 'Task' },
    { name: 'push', title: 'Push' },
  ];
  return (
    <>
      <TaskHead view={value} log={log} onChanged={reload} />
      <Problem text={log.problem.value} />
      <Tabs label="Task" tabs={tabs} current={tab} onChange={setTab}>
        {tab === 'timeline' && <Timeline log={log} />}
        {tab === 'steps' && <StepsTab taskId={taskId} />}
        {tab === 'wire' && <TaskWire log={log} />}
        {(tab === 'flow' || tab === 'slots' || tab === 'turn' || tab === 'tests') && (
          <AssistantPanel assistant={owner.agent} contextId={contextId} owner={owner} tab={tab} />
        )}
        {tab === 'task' && (
          <div class="pad">
            <JsonView value={value.task} open={3} />
          </div>
        )}
        {tab === 'push' && <TaskPush taskId={taskId} />}
      </Tabs>
    </>
  );
}

interface TaskHeadProps {
  readonly view: TaskView;
  readonly log: TaskLog;
  readonly onChanged: () => void;
}

function TaskHead({ view: { summary, task }, log, onChanged }: TaskHeadProps) {
  const [refused, act] = useAction();
  const { id, contextId, owner, state } = summary;
  const follows = log.state.value;
  const cancel = (): void => act(post(path`tasks/${id}/cancel`), onChanged);
  const first = task.history?.find(({ role }) => role === 'ROLE_USER');
  return (
    <header class="task-head">
      <div class="detail-bar">
        <Back view="tasks" />
        <StateBadge state={state} />
        <h2 class="grow task-title">{summary.request || 'Task'}</h2>
        <div class="tools">
          {follows === 'following' ? (
            <Button icon="stop" onClick={() => log.stop()}>
              Stop following
            </Button>
          ) : (
            <Button
              icon="follow"
              disabled={follows === 'loading' || follows === 'over'}
              onClick={() => void log.follow()}
            >
              Resubscribe
            </Button>
          )}
          {ownAgent(owner.agent) !== undefined && (
            <Button icon="talk" onClick={() => openInTalk(summary)}>
              Open in Talk
            </Button>
          )}
          {first !== undefined && (
            <Button icon="replay" onClick={() => sendAgain(owner.agent, first)}>
              Send again
            </Button>
          )}
          <Button kind="danger" icon="close" disabled={isTerminal(state)} onClick={cancel}>
            Cancel
          </Button>
        </div>
      </div>
      <Problem text={refused} />
      <dl class="facts">
        <Fact name="Task">
          <Id value={id} label="task id" />
        </Fact>
        <Fact name="Context">
          <Id value={contextId} label="context id" />
          <Button
            kind="quiet"
            icon="search"
            label="All tasks of this context"
            onClick={() => filterByContext(contextId)}
          />
        </Fact>
        <Fact name="Caller">{owner.subject || 'anonymous'}</Fact>
        <Fact name="Status since">{timeOf(summary.statusTime)}</Fact>
        <Fact name="Events">{Math.max(summary.version, log.events.length)}</Fact>
      </dl>
    </header>
  );
}

function Fact(props: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function openInTalk({ contextId, owner }: TaskView['summary']): void {
  openContext(contextId, { owner: owner.key, agent: owner.agent });
  goTo({ view: 'talk', id: contextId });
}

/** Resends the message in a new conversation. */
function sendAgain(agent: string, { parts, metadata }: Message): void {
  const talk = startTalk(ownTarget(agent));
  goTo({ view: 'talk' });
  void talk.say({ parts, ...(metadata !== undefined && { metadata }) });
}
