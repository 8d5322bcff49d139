import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: (id: string) => ComponentChildren;
}

/** A control with its label above it. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'password' | 'url' | 'number' | 'search';
  readonly placeholder?: string;
  readonly isMono?: boolean;
}

export function TextField(props: TextFieldProps) {
  const { label, hint, value, onChange, placeholder } = props;
  // Both kinds of element have the properties used here.
  const kind = { type: props.type ?? 'text' } as { type: 'text' };
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(id) => (
        <input
          id={id}
          class={props.isMono === true ? 'input mono' : 'input'}
          {...kind}
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceFieldProps<Name> {
  readonly label: string;
  readonly value: Name;
  readonly choices: readonly (readonly [Name, string])[];
  readonly onChange: (value: Name) => void;
}

export function ChoiceField<Name extends string>({ label, ...choice }: ChoiceFieldProps<Name>) {
  return <Field label={label}>{(id) => <Select id={id} {...choice} />}</Field>;
}

interface SelectProps<Name> extends Omit<ChoiceFieldProps<Name>, 'label'> {
  readonly id?: string;
  /** The accessible name when there is no label. */
  readonly name?: string;
}

/** A choice among few options; `Name` may be a number. */
export function Select<Name extends string | number>(props: SelectProps<Name>) {
  const { id, name: label, value, choices, onChange } = props;
  return (
    <select
      id={id}
      class="input"
      aria-label={label}
      value={value}
      onChange={(event) => {
        const chosen = choices.find(([name]) => String(name) === event.currentTarget.value);
        if (chosen !== undefined) onChange(chosen[0]);
      }}
    >
      {choices.map(([name, title]) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </select>
  );
}
