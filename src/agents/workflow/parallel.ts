import { z } from 'zod';
import { present } from '../../config/index.ts';
import {
  checkOptions,
  data,
  type OptionNames,
  ownerOf,
  type Part,
  text,
  textOf,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { Deadline } from '../../time/index.ts';
import type { Agent, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { agent, agentOptionNames, type AgentOptions } from '../define.ts';
import { isPause } from '../drive.ts';
import { EventChannel } from '../event-channel.ts';
import type { ProgressEvent } from '../turn-output.ts';
import { checkpointBase, checkSteps, escalates, storedEnd, WorkflowRun } from './workflow-run.ts';

/**
 * Options of parallel branches.
 * @example const options: ParallelOptions = { name: 'trip', branches: [trains, hotels], requires: 'all' };
 */
export interface ParallelOptions extends AgentOptions {
  /** The agents that run concurrently. */
  readonly branches: readonly Agent[];
  /** Whether one completed branch is enough, or all must complete. @default 'any' */
  readonly requires?: 'any' | 'all';
}

/** How a branch ended. */
const outcome = storedEnd.omit({ context: true });
type Outcome = z.infer<typeof outcome>;

const optionNames: OptionNames<ParallelOptions> = {
  ...agentOptionNames,
  branches: true,
  requires: ['any', 'all'],
};

const checkpointFormat = new StoredFormat({
  name: 'checkpoint of task',
  schema: checkpointBase.extend({
    outcomes: z.record(z.string(), outcome),
    /** The branch whose question the caller got. */
    asking: z.string(),
  }),
});
type Checkpoint = ReturnType<typeof checkpointFormat.decode>;

/**
 * Runs agents concurrently on the same message, each with its own conversation. Artifact names
 * have the branch as prefix (`branch/artifact`). A failed branch does not affect the others.
 * Questions of branches are asked one after the other, when no branch can continue.
 * @example parallel({ name: 'opinions', branches: [optimist, pessimist] })
 */
export function parallel(options: ParallelOptions): Agent {
  checkOptions(ownerOf('agent', options), options, optionNames, ['name']);
  const { branches, requires = 'any', ...rest } = options;
  checkSteps(options.name, branches);

  async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
    const run = await WorkflowRun.open(turn, checkpointFormat);
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
      const position = { shows: 'own', branch: branches.indexOf(branch) } as const;
      const options = { message: turn.message, isContinuation, signal, ...position };
      const events = run.step(branch, options);
      let next = await events.next();
      for (; next.done !== true; next = await events.next()) await channel.push(next.value);
      const { kind, parts, metadata } = next.value.end;
      outcomes.set(branch.name, present({ kind, parts, metadata }));
    };
    try {
      yield* channel.during(Promise.all(due.map(work)));
    } finally {
      // Stop the branches if the consumer returns early.
      stopping.abort(turn.signal.reason);
    }
    yield conclude(run, outcomes);
  }

  function conclude(run: WorkflowRun<Checkpoint>, outcomes: Map<string, Outcome>): TurnEnd {
    const next = branches.find(({ name }) => isPause(outcomes.get(name) ?? { kind: 'completed' }));
    const question = next === undefined ? undefined : outcomes.get(next.name);
    if (next !== undefined && question !== undefined) {
      const metadata = { ...question.metadata, agent: next.name };
      const { usage } = run;
      const kept = { outcomes: Object.fromEntries(outcomes), asking: next.name, usage };
      return run.pause({ ...question, metadata }, kept);
    }
    const failures = branches.flatMap(({ name }) => {
      const ended = outcomes.get(name);
      return ended === undefined || ended.kind === 'completed' ? [] : [{ name, ...ended }];
    });
    const isCompleted =
      requires === 'any' ? failures.length < branches.length : failures.length === 0;
    const kind = isCompleted ? 'completed' : 'failed';
    const isEscalated = [...outcomes.values()].some(escalates);
    const escalation = isEscalated ? { escalate: true } : {};
    const ends = branches.flatMap(({ name }) => {
      const ended = outcomes.get(name);
      return ended?.kind === 'completed' && ended.parts !== undefined ? [ended.parts] : [];
    });
    if (failures.length === 0) {
      const parts = linesOf(ends);
      return run.end({ kind, ...(parts.length > 0 && { parts }), metadata: escalation });
    }
    const reports = failures.map((each) => ({
      agent: each.name,
      state: each.kind,
      reason: textOf({ parts: each.parts ?? [] }),
    }));
    const lines = reports.map((each) =>
      `${each.agent} ended as ${each.state}. ${each.reason}`.trim(),
    );
    const parts = linesOf([...ends, [data({ failures: reports }), text(lines.join('\n'))]]);
    const metadata = isCompleted ? escalation : { error_type: 'branch_failed' };
    return run.end({ kind, parts, metadata });
  }

  return {
    ...agent({ onInterrupted: 'run-again', ...rest }, take),
    abandon: (turn) =>
      WorkflowRun.abandon(turn, checkpointFormat, ({ outcomes }) =>
        branches.filter(({ name }) => isPause(outcomes[name] ?? { kind: 'completed' })),
      ),
  };
}

/** Joins the parts of several ends, with the text of each on new lines. */
function linesOf(ends: readonly (readonly Part[])[]): readonly Part[] {
  let hasText = false;
  return ends.flatMap((parts) => {
    const first = parts.find((part) => part.text !== undefined);
    const isNext = hasText && first !== undefined;
    hasText ||= first !== undefined;
    if (!isNext) return parts;
    return parts.map((part) => (part === first ? { ...part, text: `\n${part.text}` } : part));
  });
}
