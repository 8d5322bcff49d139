import type { AttemptView } from '../../../src/http/inspector/model.ts';
import { get } from '../api/api.ts';
import { useLoaded } from '../api/loaded.ts';
import { useNotice } from '../api/use-notice.ts';
import { Badge } from '../ui/badge.tsx';
import { Empty, Notice } from '../ui/notice.tsx';
import { timeOf } from '../ui/time.ts';
import type { Tone } from '../ui/tone.ts';
import { TaskLink } from './task-link.tsx';

const outcomes: Readonly<Record<AttemptView['outcome'], readonly [Tone, string]>> = {
  delivered: ['good', 'delivered'],
  retry: ['warn', 'tried again'],
  dead: ['bad', 'given up'],
};

/** The latest calls to webhooks, with what came of each. */
export function Attempts({ taskId }: { readonly taskId?: string }) {
  const query = taskId === undefined ? '' : `?task=${encodeURIComponent(taskId)}`;
  const { value, problem, reload } = useLoaded(
    (signal) => get<readonly AttemptView[]>(`push/attempts${query}`, signal),
    [taskId],
  );
  useNotice(({ push }) => push === true, reload);
  return (
    <>
      {problem !== '' && <Notice tone="bad">{problem}</Notice>}
      {value !== undefined && value.length === 0 && (
        <Empty icon="push" title="No webhook was called yet">
          <p class="soft">Calls show up here as this server makes them, with what came of each.</p>
        </Empty>
      )}
      <ul class="rows">
        {value?.map((attempt) => (
          <AttemptRow key={attempt.number} attempt={attempt} />
        ))}
      </ul>
    </>
  );
}

function AttemptRow({ attempt }: { readonly attempt: AttemptView }) {
  const { time, taskId, sequence, url, outcome, error } = attempt;
  const [tone, words] = outcomes[outcome];
  return (
    <li class="row">
      <div class="row-main">
        <p class="row-title">
          <Badge tone={tone}>{words}</Badge>
          <code>{url}</code>
        </p>
        <p class="faint">
          event {sequence} of <TaskLink id={taskId} /> · attempt {attempt.attempt}
        </p>
        {error !== undefined && <p class="bad-text">{error}</p>}
      </div>
      <time class="faint">{timeOf(time)}</time>
    </li>
  );
}
