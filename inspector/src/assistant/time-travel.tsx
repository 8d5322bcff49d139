import { useEffect } from 'preact/hooks';
import { onKey } from '../app/shortcuts.ts';
import { Button } from '../ui/button.tsx';
import type { ConversationTurn } from './conversation-turns.ts';

interface TimeTravelProps {
  readonly turns: readonly ConversationTurn[];
  /** The index of the selected turn. */
  readonly at: number;
  /** Undefined to follow the latest turn. */
  readonly onChange: (at: number | undefined) => void;
}

/** Selects a turn: all other tabs show the state after it. */
export function TimeTravel({ turns, at, onChange }: TimeTravelProps) {
  const last = turns.length - 1;
  const go = (to: number): void => {
    if (to >= 0) onChange(to >= last ? undefined : to);
  };
  useEffect(() => {
    const stops = [onKey('[', () => go(at - 1)), onKey(']', () => go(at + 1))];
    return () => {
      for (const stop of stops) stop();
    };
  }, [at, last]);
  const turn = turns[at];
  if (turn === undefined) return null;
  return (
    <div class="travel">
      <Button
        kind="quiet"
        icon="back"
        label="One turn back"
        disabled={at === 0}
        onClick={() => go(at - 1)}
      />
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="Turn"
        aria-valuetext={`Turn ${turn.number} of ${turns.at(-1)?.number ?? 0}`}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <Button
        kind="quiet"
        icon="forward"
        label="One turn on"
        disabled={at === last}
        onClick={() => go(at + 1)}
      />
      <p class="travel-turn">
        <strong>
          {turn.number === 0
            ? 'Before the first message'
            : `Turn ${turn.number} of ${turns.at(-1)?.number}`}
        </strong>
        <span class="soft">{turn.text}</span>
      </p>
      {at < last && (
        <Button kind="quiet" onClick={() => onChange(undefined)}>
          Back to now
        </Button>
      )}
    </div>
  );
}
