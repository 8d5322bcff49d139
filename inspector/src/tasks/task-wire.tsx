import { useState } from 'preact/hooks';
import { type Message, v03, v1 } from '../../../src/protocol/index.ts';
import { Button, Copyable } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { checkedBy } from '../wire/checks.ts';
import { EventList, ProblemList } from '../wire/event-list.tsx';
import type { TaskLog } from './task-log.ts';

type Version = '1.0' | '0.3';

/** The messages from and to the callers side by side, in either version. */
export function TaskWire({ log }: { readonly log: TaskLog }) {
  const [version, setVersion] = useState<Version>('1.0');
  const [selected, setSelected] = useState(0);
  const { events } = log.current();
  const event = events[Math.min(selected, events.length - 1)];
  return (
    <div class="task-wire">
      <div class="spelling" role="group" aria-label="Version">
        <span class="faint">Wire format</span>
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
            label="Events as sent"
            events={events}
            count={events.length}
            rowHeight={2}
            selected={selected}
            onSelect={setSelected}
          />
          {event !== undefined && (
            <div class="frame-detail">
              <ProblemList problems={event.problems} />
              <Json
                value={
                  version === '1.0' ? event.body : v03.streamResponse.encode(event.body, false)
                }
              />
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
      <ProblemList problems={checkedBy(() => void v1.message.decode(message)).problems} />
      <Json value={codec.sendMessageRequest.encode({ message })} />
    </article>
  );
}

function Json({ value }: { readonly value: unknown }) {
  return (
    <Copyable text={JSON.stringify(value, undefined, 2)}>
      <JsonView value={value} open={8} />
    </Copyable>
  );
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
