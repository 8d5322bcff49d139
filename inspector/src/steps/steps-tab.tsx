import { useEffect, useState } from 'preact/hooks';
import type { StepsView } from '../../../src/http/inspector/model.ts';
import { path } from '../api/api.ts';
import { useLive } from '../api/resource.ts';
import { hrefOf } from '../app/route.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button, Copy } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { counted, durationOf } from '../ui/text.ts';
import { turnNumbers } from './turn-numbers.ts';

type TurnSteps = StepsView['turns'][number];
type AgentStep = TurnSteps['steps'][number];

interface StepsTabProps {
  /** Undefined before the first task. */
  readonly taskId: string | undefined;
  /** Answers a question of the agent; absent if the task can't be continued in this view. */
  readonly onAnswer?: ((text: string) => void) | undefined;
}

/** The interval between polls of a running task, in milliseconds. */
const liveMs = 600;

/** The steps of an agent for a task, on one time axis: models, tools, pauses, other agents. */
export function StepsTab({ taskId, onAnswer }: StepsTabProps) {
  const { value, problem, reload } = useLive<StepsView>(
    taskId && path`tasks/${taskId}/steps`,
    ({ tasks = [] }) => tasks.some(({ id }) => id === taskId),
  );
  const isLive = value?.isLive === true;
  useEffect(() => {
    if (!isLive) return undefined;
    const timer = setInterval(reload, liveMs);
    return () => clearInterval(timer);
  }, [isLive, taskId]);
  if (taskId === undefined || (value !== undefined && value.turns.length === 0)) {
    return (
      <Empty icon="tasks" title="No steps yet">
        <p class="soft">
          Prompts, tool calls, pauses and sub agents of an LLM agent appear here while it works.
        </p>
      </Empty>
    );
  }
  const numbers = turnNumbers(value?.turns ?? []);
  return (
    <div class="steps-tab">
      <Problem text={problem} />
      {value?.turns.map((turn, index) => (
        <TurnStepsView
          key={`${turn.messageId} ${turn.attempt}`}
          turn={turn}
          number={numbers[index] ?? 0}
          onAnswer={index === value.turns.length - 1 ? onAnswer : undefined}
        />
      ))}
    </div>
  );
}

interface TurnStepsProps extends Pick<StepsTabProps, 'onAnswer'> {
  readonly turn: TurnSteps;
  readonly number: number;
}

/** The time axis of a turn. */
interface Axis {
  readonly start: number;
  readonly length: number;
}

function TurnStepsView({ turn, number, onAnswer }: TurnStepsProps) {
  const { steps, attempt } = turn;
  const start = Math.min(...steps.map(({ startedAt }) => startedAt));
  const end = Math.max(...steps.map(({ startedAt, endedAt = Date.now() }) => endedAt ?? startedAt));
  const axis = { start, length: Math.max(1, end - start) };
  const traceId = steps.find((step) => step.traceId !== undefined)?.traceId;
  const models = steps.filter(({ kind }) => kind === 'model');
  const sum = (side: 'input' | 'output'): number =>
    models.reduce((all, { model }) => all + (model?.usage?.[side] ?? 0), 0);
  const facts = [
    durationOf(axis.length),
    counted(models.length, 'model call'),
    `${sum('input')} tokens in`,
    `${sum('output')} tokens out`,
  ];
  return (
    <section
      class="steps-turn"
      aria-label={`Steps of turn ${number}${attempt > 1 ? `, attempt ${attempt}` : ''}`}
    >
      <h3>
        Turn {number}
        {attempt > 1 && <Badge tone="warn">attempt {attempt}</Badge>}
      </h3>
      <p class="faint steps-facts">
        <span>{facts.join(' · ')}</span>
        {traceId !== undefined && (
          <span>
            trace <code>{traceId.slice(0, 8)}</code>
            <Copy text={traceId} label="Copy the trace id" />
          </span>
        )}
      </p>
      <StepList steps={steps} parent={undefined} axis={axis} onAnswer={onAnswer} />
    </section>
  );
}

interface StepListProps extends Pick<StepsTabProps, 'onAnswer'> {
  readonly steps: readonly AgentStep[];
  readonly parent: number | undefined;
  readonly axis: Axis;
}

function StepList({ steps, parent, axis, onAnswer }: StepListProps) {
  const own = steps.filter((step) => step.parent === parent);
  if (own.length === 0) return null;
  return (
    <ol class="steps">
      {own.map((step) => (
        <li key={step.id}>
          <StepRow step={step} axis={axis} onAnswer={onAnswer} />
          {step.remote?.taskId !== undefined &&
            // Steps that the other server shares are among these.
            !steps.some(({ parent: hop }) => hop === step.id) && (
              <RemoteSteps remote={step.remote} axis={axis} />
            )}
          <StepList steps={steps} parent={step.id} axis={axis} onAnswer={onAnswer} />
        </li>
      ))}
    </ol>
  );
}

const tones: Readonly<Record<AgentStep['state'], Tone>> = {
  running: 'info',
  done: 'good',
  failed: 'bad',
  paused: 'warn',
  interrupted: 'neutral',
};

interface StepRowProps extends Pick<StepsTabProps, 'onAnswer'> {
  readonly step: AgentStep;
  readonly axis: Axis;
}

function StepRow({ step, axis, onAnswer }: StepRowProps) {
  const { kind, name, state, startedAt, endedAt = Date.now(), detail, tool } = step;
  const left = ((startedAt - axis.start) / axis.length) * 100;
  const width = Math.max(0.5, ((endedAt - startedAt) / axis.length) * 100);
  const canAnswer = onAnswer !== undefined && state === 'paused' && tool?.asks === 'confirmation';
  return (
    <>
      <details class={`step ${kind}`}>
        <summary>
          <span class="step-kind">{kind}</span>
          <strong class="step-name">{name}</strong>
          {state !== 'done' && <Badge tone={tones[state]}>{state}</Badge>}
          {step.isReplayed === true && <Badge>replayed</Badge>}
          <span class="step-bar" aria-hidden="true">
            <span
              class={state}
              style={{ left: `${Math.min(left, 99)}%`, width: `${Math.min(width, 100 - left)}%` }}
            />
          </span>
          <span class="faint step-time">{durationOf(endedAt - startedAt)}</span>
        </summary>
        <div class="step-detail">
          {detail !== undefined && <p>{detail}</p>}
          {step.model !== undefined && <ModelDetail model={step.model} />}
          {tool !== undefined && <ToolDetail tool={tool} />}
          {step.remote !== undefined && (
            <p class="faint">
              at <code>{step.remote.url}</code>
              {step.remote.taskId !== undefined && (
                <>
                  {' '}
                  · task <code>{step.remote.taskId}</code>
                </>
              )}
            </p>
          )}
        </div>
      </details>
      {canAnswer && (
        <div class="step-ask">
          <span>
            {name} waits for approval: <code>{JSON.stringify(tool.input)}</code>
          </span>
          <span class="step-answers">
            <Button kind="primary" icon="check" onClick={() => onAnswer(`yes ${tool.callId}`)}>
              Approve
            </Button>
            <Button kind="danger" icon="close" onClick={() => onAnswer(`no ${tool.callId}`)}>
              Deny
            </Button>
          </span>
        </div>
      )}
    </>
  );
}

function ModelDetail({ model }: { readonly model: NonNullable<AgentStep['model']> }) {
  const { provider, prompt, earlierMessages, tools, text, reasoning, calls, usage } = model;
  const facts = [
    provider,
    ...(usage === undefined ? [] : [`${usage.input} tokens in`, `${usage.output} tokens out`]),
    ...(model.finishReason === undefined ? [] : [`ended by ${model.finishReason}`]),
    ...(tools.length === 0 ? [] : [`tools: ${tools.join(', ')}`]),
  ];
  return (
    <>
      <p class="faint">{facts.join(' · ')}</p>
      <h4>Prompt</h4>
      {earlierMessages > 0 && (
        <p class="faint">{earlierMessages} earlier messages, shown with the step before.</p>
      )}
      {prompt.map((said, index) => (
        <div key={index} class="prompt">
          <Badge>{said.role}</Badge>
          <pre tabIndex={0}>{said.text}</pre>
        </div>
      ))}
      {(text !== undefined || calls !== undefined || reasoning !== undefined) && <h4>Answer</h4>}
      {reasoning !== undefined && (
        <div class="prompt">
          <Badge>reasoning</Badge>
          <pre tabIndex={0}>{reasoning}</pre>
        </div>
      )}
      {text !== undefined && text !== '' && (
        <div class="prompt">
          <pre tabIndex={0}>{text}</pre>
        </div>
      )}
      {calls?.map((call) => (
        <div key={call.id}>
          <Badge tone="accent">{call.name}</Badge>
          <JsonView value={call.input} />
        </div>
      ))}
    </>
  );
}

function ToolDetail({ tool }: { readonly tool: NonNullable<AgentStep['tool']> }) {
  return (
    <>
      <h4>Arguments</h4>
      <JsonView value={tool.input} open={3} />
      {tool.output !== undefined && (
        <>
          <h4>Result</h4>
          <JsonView value={tool.output} open={3} />
        </>
      )}
    </>
  );
}

interface RemoteStepsProps {
  readonly remote: NonNullable<AgentStep['remote']>;
  readonly axis: Axis;
}

/** The steps of a remote task on the same time axis, if this server's store has the task. */
function RemoteSteps({ remote: { taskId = '', url }, axis }: RemoteStepsProps) {
  const [isOpen, setOpen] = useState(true);
  const { value, problem } = useLive<StepsView>(
    isOpen ? path`tasks/${taskId}/steps` : undefined,
    ({ tasks = [] }) => tasks.some(({ id }) => id === taskId),
  );
  // The task is on another server, which doesn't share its steps.
  if (problem !== '') {
    return (
      <p class="faint steps-remote">
        task <code>{taskId.slice(0, 8)}</code>
        <Copy text={taskId} label="Copy the task id" /> at {url}
      </p>
    );
  }
  return (
    <div class="steps-remote">
      <p class="faint">
        <a href={hrefOf({ view: 'tasks', id: taskId })}>task {taskId.slice(0, 8)}</a>{' '}
        <Button kind="quiet" expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide its steps' : 'Show its steps'}
        </Button>
      </p>
      {isOpen &&
        value?.turns.map((turn) => (
          <StepList
            key={`${turn.messageId} ${turn.attempt}`}
            steps={turn.steps}
            parent={undefined}
            axis={axis}
          />
        ))}
    </div>
  );
}
