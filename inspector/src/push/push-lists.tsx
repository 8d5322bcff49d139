import type { ComponentChildren } from 'preact';
import type {
  AttemptView,
  DeliveryView,
  PushConfigView,
} from '../../../src/http/inspector/model.ts';
import { path, post } from '../api/api.ts';
import { type Loaded, useAction, useLive } from '../api/resource.ts';
import { hrefOf } from '../app/route.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { counted, timeOf } from '../ui/text.ts';

interface OfTask {
  /** @default all tasks */
  readonly taskId?: string | undefined;
}

/** One of the webhook lists, reloaded after every change. */
function usePushList<T>(name: string, query: Readonly<Record<string, string | undefined>>) {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, value);
  return useLive<readonly T[]>(`push/${name}?${search}`, ({ push }) => push === true);
}

interface RowsProps<T> {
  readonly list: Loaded<readonly T[]>;
  /** Shown when the list is empty: a title and a hint. */
  readonly none: readonly [title: string, how: string];
  readonly row: (item: T) => ComponentChildren;
}

function Rows<T>({ list: { value, problem }, none: [title, how], row }: RowsProps<T>) {
  return (
    <>
      <Problem text={problem} />
      {value?.length === 0 && (
        <Empty icon="push" title={title}>
          <p class="soft">{how}</p>
        </Empty>
      )}
      <ul class="rows">{value?.map(row)}</ul>
    </>
  );
}

/** Links to a task. Shows the end of the id: ids start with the time, so their ends differ most. */
function TaskLink({ id }: { readonly id: string }) {
  return (
    <a href={hrefOf({ view: 'tasks', id })} title={id}>
      task …{id.slice(-6)}
    </a>
  );
}

const outcomes: Readonly<Record<AttemptView['outcome'], readonly [Tone, string]>> = {
  delivered: ['good', 'delivered'],
  retry: ['warn', 'will retry'],
  dead: ['bad', 'dead'],
};

/** The latest calls of webhooks, with their results. */
export function Attempts({ taskId }: OfTask) {
  return (
    <Rows
      list={usePushList<AttemptView>('attempts', { task: taskId })}
      none={['No deliveries yet', 'Webhook deliveries appear here, with their results.']}
      row={({ number, time, taskId: id, sequence, url, outcome, error, attempt }) => (
        <li class="row" key={number}>
          <div class="row-main">
            <p class="row-title">
              <Badge tone={outcomes[outcome][0]}>{outcomes[outcome][1]}</Badge>
              <code>{url}</code>
            </p>
            <p class="faint">
              event {sequence} of <TaskLink id={id} /> · attempt {attempt}
            </p>
            {error !== undefined && <p class="bad-text">{error}</p>}
          </div>
          <time class="faint">{timeOf(time)}</time>
        </li>
      )}
    />
  );
}

/** The registered webhooks, without their secrets. */
export function Configs({ taskId }: OfTask) {
  return (
    <Rows
      list={usePushList<PushConfigView>('configs', { task: taskId })}
      none={['No webhooks registered', 'Callers register webhooks with a message, or for a task.']}
      row={({ taskId: id, wireVersion, config }) => (
        <li class="row" key={`${id} ${config.id ?? ''}`}>
          <div class="row-main">
            <p class="row-title">
              <code>{config.url}</code>
            </p>
            <p class="faint">
              {config.id} · of <TaskLink id={id} />
            </p>
          </div>
          <Badge>A2A {wireVersion}</Badge>
          {config.authentication !== undefined && (
            <Badge tone="info">{config.authentication.scheme}</Badge>
          )}
        </li>
      )}
    />
  );
}

/** Pending deliveries, and dead ones. */
export function Deliveries({ state, taskId }: OfTask & { readonly state?: 'pending' | 'dead' }) {
  const list = usePushList<DeliveryView>('deliveries', { state, task: taskId });
  const [refusal, act] = useAction();
  return (
    <>
      <Problem text={refusal} />
      <Rows
        list={list}
        none={
          state === 'dead'
            ? [
                'No dead letters',
                'Deliveries that failed for good appear here; retry them by hand.',
              ]
            : ['No pending deliveries', 'Failed deliveries wait here for their next attempt.']
        }
        row={(delivery) => (
          <DeliveryRow
            key={delivery.id}
            delivery={delivery}
            onRetry={() =>
              act(post(path`push/deliveries/${String(delivery.id)}/retry`), list.reload)
            }
          />
        )}
      />
    </>
  );
}

interface DeliveryRowProps {
  readonly delivery: DeliveryView;
  readonly onRetry: () => void;
}

function DeliveryRow({ delivery, onRetry }: DeliveryRowProps) {
  const { state, url, taskId, sequence, attempts, nextAttemptAt, lastError } = delivery;
  return (
    <li class="row">
      <div class="row-main">
        <p class="row-title">
          <Badge tone={state === 'dead' ? 'bad' : 'warn'}>{state}</Badge>
          <code>{url}</code>
        </p>
        <p class="faint">
          event {sequence} of <TaskLink id={taskId} /> · {attemptsIn(attempts)}
          {state === 'pending' && ` · ${whenNext(nextAttemptAt)}`}
        </p>
        {lastError !== undefined && <p class="bad-text">{lastError}</p>}
      </div>
      {state === 'dead' && (
        <Button icon="replay" onClick={onRetry}>
          Retry
        </Button>
      )}
    </li>
  );
}

function attemptsIn(count: number): string {
  return count === 0 ? 'no attempts yet' : counted(count, 'attempt');
}

/** Webhooks are called in order: a due delivery waits for earlier deliveries. */
function whenNext(at: number): string {
  return at > Date.now() ? `next at ${timeOf(at)}` : 'after earlier deliveries';
}

/** The webhooks of one task. */
export function TaskPush({ taskId }: { readonly taskId: string }) {
  return (
    <div class="pad">
      <h3>Registered</h3>
      <Configs taskId={taskId} />
      <h3>Pending and dead</h3>
      <Deliveries taskId={taskId} />
      <h3>Deliveries</h3>
      <Attempts taskId={taskId} />
    </div>
  );
}
