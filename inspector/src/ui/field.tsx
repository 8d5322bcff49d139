import { type ComponentChildren, h } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from './button.tsx';
import type { Pair } from './text.ts';

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
}

/** A control with its label above it. */
function Field(props: FieldProps & { readonly children: (id: string) => ComponentChildren }) {
  const { label, hint = '', children } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint !== '' && <p class="hint">{hint}</p>}
    </div>
  );
}

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'password' | 'url' | 'number' | 'date';
  readonly placeholder?: string;
  readonly isMono?: boolean;
  readonly isRequired?: boolean;
}

export function TextField(props: TextFieldProps) {
  const { type = 'text', value, onChange, placeholder, isMono = false, isRequired } = props;
  return (
    <Field {...props}>
      {(id) =>
        // Not JSX, which has another element type for each input type.
        h('input', {
          id,
          class: isMono ? 'input mono' : 'input',
          type,
          step: type === 'number' ? 'any' : undefined,
          value,
          placeholder,
          required: isRequired,
          autocomplete: 'off',
          spellcheck: false,
          onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
            onChange(currentTarget.value),
        })
      }
    </Field>
  );
}

interface SelectProps<Name> {
  readonly value: Name;
  readonly choices: readonly (readonly [Name, string])[];
  readonly onChange: (value: Name) => void;
  readonly isRequired?: boolean;
  readonly id?: string;
  /** The accessible name when there is no label. */
  readonly name?: string;
}

export function ChoiceField<Name extends string>(props: FieldProps & SelectProps<Name>) {
  return <Field {...props}>{(id) => <Select {...props} id={id} />}</Field>;
}

/** A choice among few options; `Name` can be a number. */
export function Select<Name extends string | number>(props: SelectProps<Name>) {
  const { id, name, value, choices, onChange, isRequired } = props;
  return (
    <select
      id={id}
      class="input"
      aria-label={name}
      value={value}
      required={isRequired}
      onChange={(event) => {
        const chosen = choices.find(([one]) => String(one) === event.currentTarget.value);
        if (chosen !== undefined) onChange(chosen[0]);
      }}
    >
      {choices.map(([one, title]) => (
        <option key={one} value={one}>
          {title}
        </option>
      ))}
    </select>
  );
}

interface CheckFieldProps {
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly isDisabled?: boolean;
  readonly children: ComponentChildren;
}

export function CheckField({ isChecked, onChange, isDisabled, children }: CheckFieldProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {children}
    </label>
  );
}

interface PairsProps {
  readonly label: string;
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
  readonly add: string;
}

/** An editable list of names and values: headers, metadata. */
export function Pairs({ label, pairs, onChange, add }: PairsProps) {
  return (
    <fieldset class="pairs">
      <legend>{label}</legend>
      {pairs.map((pair, index) => (
        // Keyed by index: names can be empty or equal while the user edits them.
        <div class="pair" key={index}>
          {(['name', 'value'] as const).map((side, at) => (
            <input
              key={side}
              class="input mono"
              aria-label={`${label}: ${side} ${index + 1}`}
              placeholder={side}
              value={pair[at]}
              onInput={({ currentTarget: { value } }) =>
                onChange(pairs.with(index, at === 0 ? [value, pair[1]] : [pair[0], value]))
              }
            />
          ))}
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
