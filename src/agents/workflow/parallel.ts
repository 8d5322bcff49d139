import { data, type JsonObject, type Part, text } from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import type { Agent, EndKind, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { agent, type AgentOptions, textOf, working } from '../define.ts';
import { isPause } from '../drive.ts';
import { EventChannel } from '../event-channel.ts';
import type { ProgressEvent } from '../turn-output.ts';
import { labelled } from './step-events.ts';
import { checkSteps, escalates, WorkflowRun } from './workflow-run.ts';

/**
 * What runs side by side.
 * @example const options: ParallelOptions = { name: 'trip', branches: [trains, hotels], requires: 'all' };
 */
export interface ParallelOptions extends AgentOptions {
  readonly branches: readonly Agent[];
  /** Whether one branch that completes is enough, or all must. @default 'any' */
  readonly requires?: 'any' | 'all';
}

/** How a branch ended. */
interface Outcome {
  readonly kind: EndKind;
  readonly parts?: readonly Part[];
  readonly metadata?: JsonObject;
}

interface Checkpoint {
  readonly outcomes: Readonly<Record<string, Outcome>>;
  /** The branch whose question the caller was asked. */
  readonly asking: string;
}

/**
 * Agents side by side on the same message, each with a conversation of its own. Their artifacts are
 * named for them (`branch/artifact`). A failed branch does not affect the others. Questions
 * of branches are asked one after the other, when all have gone as far as they can.
 * @example parallel({ name: 'opinions', branches: [optimist, pessimist] })
 */
export function parallel(options: ParallelOptions): Agent {
  const { branches, requires = 'any', ...rest } = options;
  checkSteps(options.name, branches);

  async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
    const run = await WorkflowRun.open<Checkpoint>(turn);
    const { checkpoint } = run;
    const outcomes = new Map(Object.entries(checkpoint?.outcomes ?? {}));
    const due = branches.filter(({ name }) =>
      checkpoint === undefined ? true : name === checkpoint.asking,
    );
    using stopping = new Deadline({ signal: turn.signal });
    const { signal } = stopping;
    const channel = new EventChannel<ProgressEvent>();
    const work = async (branch: Agent): Promise<void> => {
      const isContinuation = checkpoint !== undefined;
      const events = run.step(branch, { message: turn.message, isContinuation, signal });
      const index = branches.indexOf(branch);
      await channel.push(working(undefined, { agent: branch.name }));
      for (;;) {
        const next = await events.next();
        if (next.done !== true) {
          await channel.push(labelled(next.value, branch.name, index));
          continue;
        }
        const { end, artifacts, isReplayed } = next.value;
        if (isReplayed) {
          for (const each of artifacts) await channel.push(labelled(each, branch.name, index));
        }
        outcomes.set(branch.name, toOutcome(end));
        return;
      }
    };
    try {
      yield* channel.during(Promise.all(due.map(work)));
    } finally {
      // A consumer that leaves early stops the branches.
      stopping.abort(turn.signal.reason);
    }
    yield conclude(run, outcomes);
  }

  function conclude(run: WorkflowRun<Checkpoint>, outcomes: Map<string, Outcome>): TurnEnd {
    const next = branches.find(({ name }) => isPause(outcomes.get(name) ?? { kind: 'completed' }));
    const question = next === undefined ? undefined : outcomes.get(next.name);
    if (next !== undefined && question !== undefined) {
      const metadata = { ...question.metadata, agent: next.name };
      const kept = { outcomes: Object.fromEntries(outcomes), asking: next.name };
      return run.pause({ ...question, metadata }, kept);
    }
    const failures = branches.flatMap(({ name }) => {
      const outcome = outcomes.get(name);
      return outcome === undefined || outcome.kind === 'completed' ? [] : [{ name, outcome }];
    });
    const isCompleted =
      requires === 'any' ? failures.length < branches.length : failures.length === 0;
    const kind = isCompleted ? 'completed' : 'failed';
    const isEscalated = [...outcomes.values()].some(escalates);
    const escalation = isEscalated ? { escalate: true } : {};
    if (failures.length === 0) {
      return run.end({ kind, ...said(branches, outcomes), metadata: escalation });
    }
    const reports = failures.map(({ name, outcome }) => ({
      agent: name,
      state: outcome.kind,
      reason: textOf({ parts: outcome.parts ?? [] }),
    }));
    const words = reports.map((each) =>
      `${each.agent} ended as ${each.state}. ${each.reason}`.trim(),
    );
    const parts = [data({ failures: reports }), text(words.join('\n'))];
    const metadata = isCompleted ? escalation : { error_type: 'branch_failed' };
    return run.end({ kind, parts, metadata });
  }

  return {
    ...agent(rest, take),
    abandon: (turn) =>
      WorkflowRun.abandon<Checkpoint>(turn, ({ outcomes }) =>
        branches.filter(({ name }) => isPause(outcomes[name] ?? { kind: 'completed' })),
      ),
  };
}

function toOutcome({ kind, parts, metadata }: TurnEnd): Outcome {
  return {
    kind,
    ...(parts !== undefined && { parts }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** The parts of the branches' ends, in branch order. */
function said(
  branches: readonly Agent[],
  outcomes: ReadonlyMap<string, Outcome>,
): { readonly parts?: readonly Part[] } {
  const parts = branches.flatMap(({ name }) => outcomes.get(name)?.parts ?? []);
  return parts.length === 0 ? {} : { parts };
}
