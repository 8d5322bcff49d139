import { useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { answerOf, type FormField, type FormSchema } from './form-schema.ts';

interface ReplyFormProps {
  readonly form: FormSchema;
  readonly disabled: boolean;
  readonly onSubmit: (answer: Record<string, string | number | boolean>) => void;
}

/** A form that the agent requested; sends the values back as data. */
export function ReplyForm({ form, disabled, onSubmit }: ReplyFormProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(form.fields.map(({ name, initial }) => [name, initial])),
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit(answerOf(form, values));
  };
  return (
    <form class="reply-form" onSubmit={submit} aria-label={form.title || 'Answer'}>
      {form.title !== '' && <h4>{form.title}</h4>}
      {form.fields.map((field) => (
        <FormControl
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <Button kind="primary" type="submit" disabled={disabled}>
        Send
      </Button>
    </form>
  );
}

interface FormControlProps {
  readonly field: FormField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function FormControl({ field, value, onChange }: FormControlProps) {
  // Both kinds of element have the properties used here.
  const kind = { type: field.kind } as { type: 'text' };
  const label = field.isRequired ? `${field.title} *` : field.title;
  return (
    <Field label={label} {...(field.description !== '' && { hint: field.description })}>
      {(id) =>
        field.kind === 'choice' || field.kind === 'boolean' ? (
          <select
            id={id}
            class="input"
            value={value}
            required={field.isRequired}
            onChange={(event) => onChange(event.currentTarget.value)}
          >
            <option value="">Choose</option>
            {field.kind === 'boolean' ? (
              <>
                <option value="true">Yes</option>
                <option value="false">No</option>
              </>
            ) : (
              field.choices.map((choice) => <option key={choice}>{choice}</option>)
            )}
          </select>
        ) : (
          <input
            id={id}
            class="input"
            {...kind}
            step={field.kind === 'number' ? 'any' : undefined}
            value={value}
            required={field.isRequired}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
        )
      }
    </Field>
  );
}
