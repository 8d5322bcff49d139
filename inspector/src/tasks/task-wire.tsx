import { useState } from 'preact/hooks';
import { LegateError, type Message, v03, v1 } from '../../../src/protocol/index.ts';
import { Button } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Copy } from '../ui/copy.tsx';
import { ProblemList } from '../wire/problem-list.tsx';
import { problemsOf } from '../wire/validate-frame.ts';
import type { TaskLog } from './task-log.ts';
import { EventList } from './timeline.tsx';

type Version = '1.0' | '0.3';

/** The messages from and to the callers side by side, in either version. */
export function TaskWire({ log }: { readonly log: TaskLog }) {
  const [version, setVersion] = useState<Version>('1.0');
  const [selected, setSelected] = useState(0);
  // Subscribes to the log.
  const count = log.version.value >= 0 ? log.events.length : 0;
  const event = log.events[Math.min(selected, count - 1)];
  return (
    <div class="task-wire">
      <div class="spelling" role="group" aria-label="Version">
        <span class="faint">Spelled as in</span>
        {(['1.0', '0.3'] as const).map((one) => (
          <Button key={one} pressed={one === version} onClick={() => setVersion(one)}>
            A2A {one}
          </Button>
        ))}
      </div>
      <div class="wire-sides">
        <section class="wire-side" aria-label="Requests">
          <h3>Requests</h3>
          {requestsIn(log).map((message) => (
            <Request key={message.messageId} message={message} version={version} />
          ))}
        </section>
        <section class="wire-side" aria-label="Events">
          <h3>Events</h3>
          <EventList
            log={log}
            label="Events as they are sent"
            rowHeight={2}
            selected={selected}
            onSelect={setSelected}
          />
          {event !== undefined && (
            <div class="frame-detail">
              <ProblemList problems={log.problems.get(event.sequence) ?? []} />
              <Json value={spelled(event.body, version)} />
            </div>
          )}
        </section>
      </div>
    </div>
  );
}

function Request({ message, version }: { readonly message: Message; readonly version: Version }) {
  const codec = version === '1.0' ? v1 : v03;
  return (
    <article class="request">
      <ProblemList problems={problemsIn(message)} />
      <Json value={codec.sendMessageRequest.encode({ message })} />
    </article>
  );
}

function Json({ value }: { readonly value: unknown }) {
  return (
    <div class="wire-body">
      <Copy text={JSON.stringify(value, undefined, 2)} label="Copy" />
      <JsonView value={value} open={8} />
    </div>
  );
}

function problemsIn(message: Message): readonly string[] {
  try {
    v1.message.decode(message);
    return [];
  } catch (error) {
    if (error instanceof LegateError) return problemsOf(error);
    throw error;
  }
}

/** The first message is in the task's history, later ones are in the log. */
function requestsIn(log: TaskLog): readonly Message[] {
  return log.events.flatMap(({ body }) => {
    if ('task' in body) return (body.task.history ?? []).filter(isUser);
    return 'message' in body && isUser(body.message) ? [body.message] : [];
  });
}

function isUser({ role }: Message): boolean {
  return role === 'ROLE_USER';
}

function spelled(body: TaskLog['events'][number]['body'], version: Version): unknown {
  return version === '1.0' ? body : v03.streamResponse.encode(body, false);
}
