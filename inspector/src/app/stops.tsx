import { useEffect } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { onKey } from './shortcuts.tsx';

interface StopsProps {
  /** The kind of a stop. */
  readonly noun: 'turn' | 'task';
  readonly stops: readonly { readonly title: string; readonly text: string }[];
  /** The index of the selected stop. */
  readonly at: number;
  /** Undefined to follow the latest stop. */
  readonly onChange: (at: number | undefined) => void;
}

/** Selects a turn or a task of a conversation; the panel shows the state after it. */
export function Stops({ noun, stops, at, onChange }: StopsProps) {
  const last = stops.length - 1;
  const go = (to: number): void => {
    if (to >= 0) onChange(to >= last ? undefined : to);
  };
  useEffect(() => {
    const ends = [onKey('[', () => go(at - 1)), onKey(']', () => go(at + 1))];
    return () => {
      for (const end of ends) end();
    };
  }, [at, last]);
  const stop = stops[at];
  if (stop === undefined) return null;
  return (
    <div class="travel">
      <Button
        kind="quiet"
        icon="back"
        label={`Previous ${noun}`}
        disabled={at === 0}
        onClick={() => go(at - 1)}
      />
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label={noun === 'turn' ? 'Turn' : 'Task'}
        aria-valuetext={stop.title}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <Button
        kind="quiet"
        icon="forward"
        label={`Next ${noun}`}
        disabled={at === last}
        onClick={() => go(at + 1)}
      />
      <p class="travel-turn">
        <strong>{stop.title}</strong>
        <span class="soft">{stop.text}</span>
      </p>
      {at < last && (
        <Button kind="quiet" onClick={() => onChange(undefined)}>
          Latest {noun}
        </Button>
      )}
    </div>
  );
}
