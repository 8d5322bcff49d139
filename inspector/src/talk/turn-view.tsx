import { useState } from 'preact/hooks';
import { hrefOf } from '../app/route.ts';
import { PartList } from '../parts/parts.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ChoiceField, TextField } from '../ui/field.tsx';
import { Problem } from '../ui/notice.tsx';
import { counted, durationOf } from '../ui/text.ts';
import {
  answerOf,
  type Choice,
  choicesOf,
  type FormAnswer,
  type FormField,
  formIn,
  type FormSchema,
} from './input-request.ts';
import type { Output, TalkTurn } from './turn.ts';

interface TurnViewProps {
  readonly turn: TalkTurn;
  /** Whether it is the last turn and no turn is in flight. */
  readonly canAnswer: boolean;
  /** Whether its task is on this server. */
  readonly isOwn: boolean;
  readonly onChoose: (choice: Choice) => void;
  readonly onAnswer: (answer: FormAnswer) => void;
  /** The label of the fork button. */
  readonly forkLabel: string;
  /** Continues from the turn in another conversation. */
  readonly onFork: (turn: TalkTurn) => void;
  /** Replaces the text, in another conversation. */
  readonly onRerun: (turn: TalkTurn, text: string) => void;
}

/** A message and the agent's answer; the welcome of an assistant, turn 0, has no message. */
export function TurnView(props: TurnViewProps) {
  const { turn, canAnswer, onChoose, onAnswer, onRerun } = props;
  const [isEditing, setEditing] = useState(false);
  const isWelcome = turn.number === 0;
  const form =
    canAnswer && turn.isWaiting && !isWelcome
      ? formIn(turn.outputs.at(-1)?.parts ?? [])
      : undefined;
  return (
    <article
      class={isWelcome ? 'welcome' : 'turn'}
      aria-label={isWelcome ? 'Welcome' : `Turn ${turn.number}`}
    >
      {!isWelcome && !isEditing && (
        <div class="bubble own">
          {turn.shown === undefined ? <PartList parts={turn.message.parts} /> : <p>{turn.shown}</p>}
        </div>
      )}
      {isEditing && (
        <EditForm
          text={turn.message.parts.map(({ text = '' }) => text).join('\n')}
          onCancel={() => setEditing(false)}
          onRerun={(text) => {
            setEditing(false);
            onRerun(turn, text);
          }}
        />
      )}
      {turn.outputs.map((output) => (
        <OutputView
          key={output.key}
          output={output}
          isOpen={turn.isOpen}
          canChoose={canAnswer}
          onChoose={onChoose}
        />
      ))}
      {turn.isOpen && turn.outputs.length === 0 && (
        <p class="thinking" role="status">
          <span class="hidden-label">The agent is working</span>
        </p>
      )}
      {form !== undefined && <ReplyForm form={form} onSubmit={onAnswer} />}
      <Problem text={turn.problem} />
      {!isWelcome && <TurnFoot {...props} onEdit={() => setEditing(true)} />}
    </article>
  );
}

interface OutputViewProps {
  readonly output: Output;
  /** Whether the turn is in flight. @default false */
  readonly isOpen?: boolean;
  readonly canChoose?: boolean;
  /** @default choices are not shown */
  readonly onChoose?: (choice: Choice) => void;
}

export function OutputView({ output, isOpen = false, canChoose, onChoose }: OutputViewProps) {
  const choices = onChoose === undefined ? [] : output.parts.flatMap(choicesOf);
  const isGrowing = isOpen && !output.isComplete;
  return (
    <div class={`bubble agent ${output.kind}`}>
      {output.kind === 'artifact' && <p class="artifact-name">{output.name ?? 'artifact'}</p>}
      <PartList parts={output.parts} isGrowing={isGrowing} />
      {isGrowing && <span class="caret" aria-hidden="true" />}
      {choices.length > 0 && (
        <div class="choices">
          {choices.map((choice) => (
            <button
              key={choice.payload}
              type="button"
              class="choice"
              disabled={canChoose !== true}
              onClick={() => onChoose?.(choice)}
            >
              {choice.title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

interface TurnFootProps extends Pick<TurnViewProps, 'turn' | 'isOwn' | 'forkLabel' | 'onFork'> {
  readonly onEdit: () => void;
}

function TurnFoot({ turn, isOwn, forkLabel, onFork, onEdit }: TurnFootProps) {
  if (turn.isOpen && turn.state === undefined) return null;
  const isText = turn.message.parts.every(({ text }) => text !== undefined);
  return (
    <footer class="turn-foot">
      {turn.state !== undefined && <StateBadge state={turn.state} />}
      {turn.endedAt !== undefined && <span>{durationOf(turn.endedAt - turn.startedAt)}</span>}
      {turn.events > 0 && <span class="turn-events">{counted(turn.events, 'event')}</span>}
      {isOwn && turn.taskId !== undefined && (
        <a href={hrefOf({ view: 'tasks', id: turn.taskId })}>task</a>
      )}
      {!turn.isOpen && (
        <span class="turn-tools">
          {isText && <Button kind="quiet" icon="edit" label="Edit and rerun" onClick={onEdit} />}
          <Button kind="quiet" icon="fork" label={forkLabel} onClick={() => onFork(turn)} />
        </span>
      )}
    </footer>
  );
}

interface EditFormProps {
  readonly text: string;
  readonly onRerun: (text: string) => void;
  readonly onCancel: () => void;
}

/** Edits the message of a turn, to send it with another text. */
function EditForm({ text: initial, onRerun, onCancel }: EditFormProps) {
  const [text, setText] = useState(initial);
  return (
    <form
      class="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') onRerun(text);
      }}
    >
      <textarea
        class="input"
        rows={2}
        aria-label="Message to send instead"
        value={text}
        ref={(field) => field?.focus()}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel();
        }}
      />
      <div class="form-end">
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={text.trim() === ''}>
          Rerun
        </Button>
      </div>
    </form>
  );
}

interface ReplyFormProps {
  readonly form: FormSchema;
  readonly onSubmit: (answer: FormAnswer) => void;
}

/** A form that the agent requested; sends the values back as data. */
function ReplyForm({ form, onSubmit }: ReplyFormProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(form.fields.map(({ name, initial }) => [name, initial])),
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit(answerOf(form, values));
  };
  return (
    <form class="reply-form" onSubmit={submit} aria-label={form.title || 'Answer'}>
      {form.title !== '' && <p class="form-title">{form.title}</p>}
      {form.fields.map((field) => (
        <FormControl
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <Button kind="primary" type="submit">
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

function FormControl({ field, ...control }: FormControlProps) {
  const { kind, choices, isRequired } = field;
  const label = isRequired ? `${field.title} *` : field.title;
  const shared = { ...control, label, hint: field.description, isRequired };
  if (kind === 'text' || kind === 'number' || kind === 'date') {
    return <TextField {...shared} type={kind} />;
  }
  const options: readonly (readonly [string, string])[] =
    kind === 'choice'
      ? choices.map((choice) => [choice, choice])
      : [
          ['true', 'Yes'],
          ['false', 'No'],
        ];
  return <ChoiceField {...shared} choices={[['', 'Choose'], ...options]} />;
}
