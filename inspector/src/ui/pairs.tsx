import { Button } from './button.tsx';
import type { Pair } from './pair.ts';

interface PairsProps {
  readonly label: string;
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
  readonly add: string;
}

/** An editable list of names and values: headers, metadata. */
export function Pairs({ label, pairs, onChange, add }: PairsProps) {
  const replace = (index: number, pair: Pair): void => onChange(pairs.with(index, pair));
  return (
    <fieldset class="pairs">
      <legend>{label}</legend>
      {pairs.map(([name, value], index) => (
        // Keyed by index: names may be empty or equal while the user edits them.
        <div class="pair" key={index}>
          <input
            class="input mono"
            aria-label={`${label}: name ${index + 1}`}
            placeholder="name"
            value={name}
            onInput={(event) => replace(index, [event.currentTarget.value, value])}
          />
          <input
            class="input mono"
            aria-label={`${label}: value ${index + 1}`}
            placeholder="value"
            value={value}
            onInput={(event) => replace(index, [name, event.currentTarget.value])}
          />
          <Button
            kind="quiet"
            icon="close"
            label="Remove"
            onClick={() => onChange(pairs.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Button kind="quiet" icon="plus" onClick={() => onChange([...pairs, ['', '']])}>
        {add}
      </Button>
    </fieldset>
  );
}
