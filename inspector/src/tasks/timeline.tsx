import { useEffect, useMemo, useState } from 'preact/hooks';
import type { LoggedEvent } from '../../../src/http/inspector/model.ts';
import { message } from '../../../src/protocol/index.ts';
import { TalkTurn } from '../talk/turn.ts';
import { OutputView } from '../talk/turn-view.tsx';
import { Button } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { WindowedList } from '../ui/windowed-list.tsx';
import { EventLine } from '../wire/event-line.tsx';
import { eventSummary } from '../wire/frame-summary.ts';
import { ProblemList } from '../wire/problem-list.tsx';
import type { TaskLog } from './task-log.ts';

/** The events of a task in order; each can be inspected, and all can be replayed. */
export function Timeline({ log }: { readonly log: TaskLog }) {
  const [chosen, setChosen] = useState(-1);
  const [isPlaying, setPlaying] = useState(false);
  // Subscribes to the log.
  const count = log.version.value >= 0 ? log.events.length : 0;
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
          log={log}
          label="Events"
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

/** Steps through the events; a whole replay takes some seconds, however many there are. */
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

interface EventListProps {
  readonly log: TaskLog;
  readonly label: string;
  readonly rowHeight: number;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  readonly follows?: boolean;
}

/** The events of a task, one a line. */
export function EventList({ log, ...list }: EventListProps) {
  return (
    <WindowedList
      {...list}
      // Subscribes to the log.
      count={log.version.value >= 0 ? log.events.length : 0}
      rowKey={(index) => log.events[index]?.sequence ?? index}
      row={(index) => {
        const event = log.events[index];
        if (event === undefined) return null;
        return (
          <EventLine
            isGood={!log.problems.has(event.sequence)}
            number={event.sequence}
            summary={eventSummary(event.body)}
          />
        );
      }}
    />
  );
}

function EventDetail({ log, at }: { readonly log: TaskLog; readonly at: number }) {
  const replay = useMemo(() => new Replay(log.events), [log]);
  const event = log.events[at];
  if (event === undefined) return <div class="timeline-detail" />;
  const task = replay.after(at + 1);
  return (
    <div class="timeline-detail">
      <section>
        <h3>
          The task after event {event.sequence}{' '}
          {task.state !== undefined && <StateBadge state={task.state} />}
        </h3>
        <div class="task-so-far">
          {task.outputs.map((output) => (
            <OutputView key={output.key} output={output} />
          ))}
          {task.outputs.length === 0 && <p class="faint">Nothing was said or made yet.</p>}
        </div>
      </section>
      <section>
        <h3>Event {event.sequence}</h3>
        <ProblemList problems={log.problems.get(event.sequence) ?? []} />
        <JsonView value={event.body} open={8} />
      </section>
    </div>
  );
}

/**
 * A task as it was after any of its events. Moving forward applies events one by one; moving back
 * starts over.
 */
class Replay {
  readonly #events: readonly LoggedEvent[];
  #turn = fresh();
  #at = 0;

  constructor(events: readonly LoggedEvent[]) {
    this.#events = events;
  }

  /** `count`: number of events to apply. */
  after(count: number): TalkTurn {
    if (count < this.#at) {
      this.#turn = fresh();
      this.#at = 0;
    }
    for (; this.#at < count; this.#at += 1) {
      const event = this.#events[this.#at];
      if (event !== undefined) this.#turn.take(event.body);
    }
    return this.#turn;
  }
}

function fresh(): TalkTurn {
  return new TalkTurn(0, message(''));
}
