import { useEffect, useRef, useState } from 'preact/hooks';
import { message } from '../../../src/protocol/index.ts';
import { TalkTurn } from '../talk/turn.ts';
import { OutputView } from '../talk/turn-view.tsx';
import { Button } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { EventList, ProblemList } from '../wire/event-list.tsx';
import type { LogEvent, TaskLog } from './task-log.ts';

/** The events of a task in order; each can be inspected, and all can be replayed. */
export function Timeline({ log }: { readonly log: TaskLog }) {
  const [chosen, setChosen] = useState(-1);
  const [isPlaying, setPlaying] = useState(false);
  const { events } = log.current();
  const count = events.length;
  const at = chosen < 0 ? count - 1 : Math.min(chosen, count - 1);
  usePlaying(isPlaying, at, count, setChosen, () => setPlaying(false));
  const play = (): void => {
    if (!isPlaying && at >= count - 1) setChosen(0);
    setPlaying(!isPlaying);
  };
  return (
    <div class="timeline">
      <div class="replay">
        <Button icon={isPlaying ? 'stop' : 'play'} onClick={play} disabled={count < 2}>
          {isPlaying ? 'Stop' : 'Replay'}
        </Button>
        <input
          type="range"
          min={0}
          max={Math.max(0, count - 1)}
          value={Math.max(0, at)}
          aria-label="Event"
          onInput={(event) => {
            setPlaying(false);
            setChosen(Number(event.currentTarget.value));
          }}
        />
        <span class="faint">
          {at + 1} of {count}
        </span>
      </div>
      <div class="timeline-sides">
        <EventList
          label="Events"
          events={events}
          count={count}
          rowHeight={2.25}
          selected={chosen < 0 ? -1 : at}
          onSelect={setChosen}
          follows={chosen < 0}
        />
        <EventDetail log={log} at={at} />
      </div>
    </div>
  );
}

/** Steps through the events. A whole replay takes some seconds, independent of their number. */
function usePlaying(
  isPlaying: boolean,
  at: number,
  count: number,
  onMove: (at: number) => void,
  onEnd: () => void,
): void {
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (at >= count - 1) {
      onEnd();
      return undefined;
    }
    const step = Math.max(1, Math.round(count / 200));
    const pause = Math.min(600, Math.max(40, 8_000 / count));
    const timer = setTimeout(() => onMove(Math.min(count - 1, at + step)), pause);
    return () => clearTimeout(timer);
  }, [isPlaying, at, count]);
}

function EventDetail({ log, at }: { readonly log: TaskLog; readonly at: number }) {
  const task = useReplay(log.events, at + 1);
  const event = log.events[at];
  if (event === undefined) return <div class="timeline-detail" />;
  return (
    <div class="timeline-detail">
      <section>
        <h3>
          Task after event {event.number}{' '}
          {task.state !== undefined && <StateBadge state={task.state} />}
        </h3>
        <div class="task-so-far">
          {task.outputs.map((output) => (
            <OutputView key={output.key} output={output} />
          ))}
          {task.outputs.length === 0 && <p class="faint">No output yet.</p>}
        </div>
      </section>
      <section>
        <h3>Event {event.number}</h3>
        <ProblemList problems={event.problems} />
        <JsonView value={event.body} open={8} />
      </section>
    </div>
  );
}

/**
 * The task after the first `count` events. Moving forward applies events one by one; moving back starts
 * over.
 */
function useReplay(events: readonly LogEvent[], count: number): TalkTurn {
  const replayed = useRef({ turn: emptyTurn(), count: 0 });
  if (count < replayed.current.count) replayed.current = { turn: emptyTurn(), count: 0 };
  const { turn, count: done } = replayed.current;
  for (const { body } of events.slice(done, count)) turn.take(body);
  replayed.current.count = count;
  return turn;
}

function emptyTurn(): TalkTurn {
  return new TalkTurn(0, message(''));
}
