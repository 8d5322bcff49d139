import { Badge } from '../ui/badge.tsx';
import { type EventSummary, eventTones } from './frame-summary.ts';
import { Mark } from './problem-list.tsx';

interface EventLineProps {
  readonly isGood: boolean;
  readonly number: number;
  readonly summary: EventSummary | undefined;
  /** Shown instead of a summary for a frame that is not an event. */
  readonly raw?: string;
}

/** One event in a list: its check result, its number, and its summary. */
export function EventLine({ isGood, number, summary, raw = '' }: EventLineProps) {
  return (
    <span class="frame-row">
      <Mark isGood={isGood} />
      <span class="faint frame-number">{number}</span>
      {summary === undefined ? (
        <code>{raw}</code>
      ) : (
        <>
          <Badge tone={eventTones[summary.kind]}>{summary.kind}</Badge>
          <span class="frame-text">{summary.text}</span>
        </>
      )}
    </span>
  );
}
