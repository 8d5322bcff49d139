import { useState } from 'preact/hooks';
import type { DeliveryView } from '../../../src/http/inspector/model.ts';
import { get, path, post } from '../api/api.ts';
import { useLoaded } from '../api/loaded.ts';
import { reasonOf } from '../api/reason.ts';
import { useNotice } from '../api/use-notice.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, Notice } from '../ui/notice.tsx';
import { timeOf } from '../ui/time.ts';
import { TaskLink } from './task-link.tsx';

interface DeliveriesProps {
  readonly state?: 'pending' | 'dead';
  readonly taskId?: string;
}

/** What is owed to webhooks: waiting to be tried again, or given up. */
export function Deliveries({ state, taskId }: DeliveriesProps) {
  const query = new URLSearchParams({
    ...(state !== undefined && { state }),
    ...(taskId !== undefined && { task: taskId }),
  });
  const { value, problem, reload } = useLoaded(
    (signal) => get<readonly DeliveryView[]>(`push/deliveries?${query}`, signal),
    [state, taskId],
  );
  const [refused, setRefused] = useState('');
  useNotice(({ push }) => push === true, reload);
  const retry = (id: number): void => {
    post(path`push/deliveries/${String(id)}/retry`).then(
      () => {
        setRefused('');
        reload();
      },
      (error: unknown) => setRefused(reasonOf(error)),
    );
  };
  const trouble = problem || refused;
  return (
    <>
      {trouble !== '' && <Notice tone="bad">{trouble}</Notice>}
      {value !== undefined && value.length === 0 && (
        <Empty icon="push" title={state === 'dead' ? 'No dead letters' : 'Nothing is owed'}>
          <p class="soft">
            {state === 'dead'
              ? 'Deliveries that are given up wait here to be tried once more.'
              : 'What has to be tried again waits here for its next attempt.'}
          </p>
        </Empty>
      )}
      <ul class="rows">
        {value?.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} onRetry={() => retry(delivery.id)} />
        ))}
      </ul>
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
          <Badge tone={state === 'dead' ? 'bad' : 'warn'}>
            {state === 'dead' ? 'dead' : 'waiting'}
          </Badge>
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
  if (count === 0) return 'not tried yet';
  return count === 1 ? '1 attempt' : `${count} attempts`;
}

/** Webhooks are called in order: what is due and not tried waits for what is before it. */
function whenNext(at: number): string {
  return at > Date.now() ? `next at ${timeOf(at)}` : 'after those before it';
}
