import { PartList } from '../parts/part-list.tsx';
import { Problem } from '../ui/notice.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { durationOf } from '../ui/time.ts';
import { hrefOf } from '../app/route.ts';
import { type Choice, choicesOf } from './choices.ts';
import { formIn } from './form-schema.ts';
import { ReplyForm } from './reply-form.tsx';
import type { Output, TalkTurn } from './turn.ts';

interface TurnViewProps {
  readonly turn: TalkTurn;
  /** Only the last turn can be answered. */
  readonly isLast: boolean;
  readonly isBusy: boolean;
  /** Whether its task is one of the server's own. */
  readonly isOwn: boolean;
  readonly onChoose: (choice: Choice) => void;
  readonly onAnswer: (answer: Record<string, string | number | boolean>) => void;
}

/** A message and the agent's answer. */
export function TurnView({ turn, isLast, isBusy, isOwn, onChoose, onAnswer }: TurnViewProps) {
  const waiting = isLast && turn.isWaiting ? turn.outputs.at(-1) : undefined;
  const form = waiting === undefined ? undefined : formIn(waiting.parts);
  return (
    <article class="turn" aria-label={`Turn ${turn.number}`}>
      <div class="bubble own">
        {turn.shown === undefined ? <PartList parts={turn.message.parts} /> : <p>{turn.shown}</p>}
      </div>
      {turn.outputs.map((output) => (
        <OutputView
          key={output.key}
          output={output}
          isOpen={turn.isOpen}
          canChoose={isLast && !isBusy}
          onChoose={onChoose}
        />
      ))}
      {turn.isOpen && turn.outputs.length === 0 && <Thinking />}
      {form !== undefined && <ReplyForm form={form} disabled={isBusy} onSubmit={onAnswer} />}
      <Problem text={turn.problem} />
      <TurnFoot turn={turn} isOwn={isOwn} />
    </article>
  );
}

interface WelcomeViewProps {
  readonly welcome: TalkTurn;
  readonly canChoose: boolean;
  readonly onChoose: (choice: Choice) => void;
}

/** The welcome of an assistant. */
export function WelcomeView({ welcome, canChoose, onChoose }: WelcomeViewProps) {
  return (
    <article class="welcome" aria-label="Welcome">
      {welcome.outputs.map((output) => (
        <OutputView
          key={output.key}
          output={output}
          isOpen={welcome.isOpen}
          canChoose={canChoose}
          onChoose={onChoose}
        />
      ))}
      {welcome.isOpen && welcome.outputs.length === 0 && <Thinking />}
      <Problem text={welcome.problem} />
    </article>
  );
}

function Thinking() {
  return (
    <p class="thinking" role="status">
      <span class="hidden-label">The agent is at work</span>
    </p>
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
  return (
    <div class={`bubble agent ${output.kind}`}>
      {output.kind === 'artifact' && <p class="artifact-name">{output.name ?? 'artifact'}</p>}
      <PartList
        parts={output.parts}
        isStream={output.kind === 'artifact'}
        isGrowing={isOpen && !output.isSealed}
      />
      {isOpen && !output.isSealed && <span class="caret" aria-hidden="true" />}
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

function TurnFoot({ turn, isOwn }: { readonly turn: TalkTurn; readonly isOwn: boolean }) {
  if (turn.state === undefined && turn.endedAt === undefined) return null;
  return (
    <footer class="turn-foot">
      {turn.state !== undefined && <StateBadge state={turn.state} />}
      {turn.endedAt !== undefined && <span>{durationOf(turn.endedAt - turn.startedAt)}</span>}
      <span>
        {turn.events} {turn.events === 1 ? 'event' : 'events'}
      </span>
      {isOwn && turn.taskId !== undefined && (
        <a href={hrefOf({ view: 'tasks', id: turn.taskId })}>task</a>
      )}
    </footer>
  );
}
