import type { PushConfigView } from '../../../src/http/inspector/model.ts';
import { get } from '../api/api.ts';
import { useLoaded } from '../api/loaded.ts';
import { Badge } from '../ui/badge.tsx';
import { Empty, Notice } from '../ui/notice.tsx';
import { TaskLink } from './task-link.tsx';

/** The webhooks that callers registered, without their secrets. */
export function Configs({ taskId }: { readonly taskId?: string }) {
  const query = taskId === undefined ? '' : `?task=${encodeURIComponent(taskId)}`;
  const { value, problem } = useLoaded(
    (signal) => get<readonly PushConfigView[]>(`push/configs${query}`, signal),
    [taskId],
  );
  return (
    <>
      {problem !== '' && <Notice tone="bad">{problem}</Notice>}
      {value !== undefined && value.length === 0 && (
        <Empty icon="push" title="No webhooks are registered">
          <p class="soft">Callers register them with a message, or for a task.</p>
        </Empty>
      )}
      <ul class="rows">
        {value?.map(({ taskId: id, wireVersion, config }) => (
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
        ))}
      </ul>
    </>
  );
}
