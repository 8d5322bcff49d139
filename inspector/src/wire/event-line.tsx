import { Badge } from '../ui/badge.tsx';
import { type EventSummary, eventTones } from './frame-summary.ts';
import { Mark } from './problem-list.tsx';

interface EventLineProps {
  readonly isGood: boolean;
  readonly number: number;
  readonly summary: EventSummary | undefined;
  /** Stands where there is no summary, for the frame is no event. */
  readonly raw?: string;
}

/** One event in a list: whether it is as it should be, its number, and what it says. */
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
