import { type Part, shortened, type StreamResponse } from '../../../src/protocol/index.ts';
import { Badge, stateName, type Tone } from '../ui/badge.tsx';
import { Icon } from '../ui/icon.tsx';
import { timeOf } from '../ui/text.ts';
import { WindowedList } from '../ui/windowed-list.tsx';

/** An event of a stream, a log or a webhook, as lists show it. */
export interface ListedEvent {
  readonly number: number;
  readonly problems: readonly string[];
  /** Undefined for messages that aren't events. */
  readonly summary: EventSummary | undefined;
  /** Shown instead of a missing summary. */
  readonly text?: string;
  /** Milliseconds since 1970. */
  readonly time?: number;
}

export interface EventSummary {
  readonly kind: 'task' | 'message' | 'status' | 'artifact';
  readonly text: string;
}

const tones: Readonly<Record<EventSummary['kind'], Tone>> = {
  task: 'neutral',
  message: 'accent',
  status: 'info',
  artifact: 'good',
};

interface EventListProps {
  readonly label: string;
  /** Can be mutated in place. */
  readonly events: readonly ListedEvent[];
  /** Changes whenever events are added, so that the list updates. */
  readonly count: number;
  readonly rowHeight: number;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  readonly follows?: boolean;
}

/** Events, one a line: the check result, the number, and the summary. */
export function EventList({ events, ...list }: EventListProps) {
  return (
    <WindowedList
      {...list}
      rowKey={(index) => events[index]?.number ?? index}
      row={(index) => {
        const event = events[index];
        if (event === undefined) return null;
        const { number, problems, summary, text = '', time } = event;
        return (
          <span class="frame-row">
            <Mark isGood={problems.length === 0} />
            <span class="faint frame-number">{number}</span>
            {summary === undefined ? (
              <code>{shortened(text, 200)}</code>
            ) : (
              <>
                <Badge tone={tones[summary.kind]}>{summary.kind}</Badge>
                <span class="frame-text">{summary.text}</span>
              </>
            )}
            {time !== undefined && <time class="faint">{timeOf(time)}</time>}
          </span>
        );
      }}
    />
  );
}

/** The problems, one per line, or "valid" if there are none. */
export function ProblemList({
  problems,
  rule,
}: {
  readonly problems: readonly string[];
  /** The rules that the event was checked against. @default not shown */
  readonly rule?: string;
}) {
  if (problems.length === 0) {
    return (
      <p class="verdict good">
        <Icon name="check" /> valid
      </p>
    );
  }
  return (
    <ul class="verdict bad">
      {problems.map((problem) => (
        <li key={problem}>
          <Icon name="alert" /> <span>{problem}</span>
        </li>
      ))}
      {rule !== undefined && <li class="verdict-rule">Checked against {rule}</li>}
    </ul>
  );
}

/** The check result as an icon. */
export function Mark({ isGood }: { readonly isGood: boolean }) {
  return (
    <span class={isGood ? 'mark good' : 'mark bad'}>
      <Icon name={isGood ? 'check' : 'alert'} />
      <span class="hidden-label">{isGood ? 'valid' : 'invalid'}</span>
    </span>
  );
}

export function eventSummary(event: StreamResponse): EventSummary {
  if ('task' in event) {
    const { status, artifacts } = event.task;
    const made = artifacts === undefined ? '' : `, ${artifacts.length} artifacts`;
    return { kind: 'task', text: `${stateName(status.state)}${made}` };
  }
  if ('message' in event) {
    const { role, parts } = event.message;
    return { kind: 'message', text: (role === 'ROLE_USER' ? 'caller: ' : '') + excerptOf(parts) };
  }
  if ('statusUpdate' in event) {
    const { status } = event.statusUpdate;
    const excerpt = excerptOf(status.message?.parts ?? []);
    const text = stateName(status.state) + (excerpt === '' ? '' : ` — ${excerpt}`);
    return { kind: 'status', text };
  }
  const { artifact, append, lastChunk } = event.artifactUpdate;
  const { artifactId: id, name = id.length > 24 ? `…${id.slice(-6)}` : id } = artifact;
  const how = append === true ? 'more of ' : '';
  const last = lastChunk === true ? ' (last)' : '';
  return { kind: 'artifact', text: `${how}${name}${last} — ${excerptOf(artifact.parts)}` };
}

/** The first words of the parts, on one line. */
function excerptOf(parts: readonly Part[]): string {
  const hasText = parts.some(({ text }) => text !== undefined && text !== '');
  const texts = parts.map((part) => {
    if (part.text !== undefined) return part.text;
    // Prefers text: data is hard to read on one line.
    if (part.data !== undefined) return hasText ? '' : JSON.stringify(part.data);
    return part.filename ?? part.url ?? 'file';
  });
  return shortened(texts.join(' ').replaceAll(/\s+/g, ' ').trim(), 160);
}
