import { z } from 'zod';
import {
  type Artifact,
  invalidConfiguration,
  type JsonObject,
  LegateError,
  type Message,
  type Part,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Agent, ContextPatch, Turn, TurnEnd } from '../agent.ts';
import { checkAgent } from '../check-agent.ts';
import { childTurn, inBranch } from '../child-turn.ts';
import { working } from '../define.ts';
import { drive, failure, isPause } from '../drive.ts';
import { artifact, jsonObject, part, SavedTasks } from '../stored.ts';
import { toLog } from '../tool-loop/conversation.ts';
import { TurnOutput, type ProgressEvent } from '../turn-output.ts';
import { addUsage, noUsage, type Usage, usage, usageMetadata, usageOf } from '../usage.ts';

/** Whether a step also ends the workflows around it. */
export function escalates(end: { readonly metadata?: JsonObject }): boolean {
  return end.metadata?.['escalate'] === true;
}

/** The base of all checkpoints: the usage of the steps that have ended. */
export const checkpointBase = z.object({ usage: usage.default(noUsage) });

export const storedEnd = z.object({
  kind: z.enum(['completed', 'input-required', 'auth-required', 'rejected', 'failed', 'canceled']),
  parts: z.array(part).readonly().exactOptional(),
  metadata: jsonObject.exactOptional(),
  context: z
    .object({
      value: jsonObject.exactOptional(),
      log: z.array(jsonObject).readonly().exactOptional(),
    })
    .exactOptional(),
});

export const stepResult = z.object({
  end: storedEnd,
  artifacts: z.array(artifact).readonly(),
  parts: z.array(part).readonly(),
});

/** The outcome of a step. */
export type StepResult = Readonly<z.infer<typeof stepResult>>;

const journaledStep = new StoredFormat({ name: 'journal entry', schema: stepResult });

export interface StepOptions {
  readonly message: Message;
  /** Whether the message answers a question of the step. */
  readonly isContinuation: boolean;
  /** How artifacts are shown: unchanged, under ids of the step, or not at all. */
  readonly shows: 'as-is' | 'own' | 'none';
  /** The position of a parallel branch, which orders its artifacts. */
  readonly branch?: number;
  /** Distinguishes runs of the same step within a turn. @default the step's name */
  readonly key?: string;
  /** Shown to callers in place of the step's name. */
  readonly label?: string;
  readonly signal?: AbortSignal;
}

/** The output of a step. */
export interface SaidBy {
  readonly name: string;
  readonly parts: readonly Part[];
}

const maxCheckpointSize = 2 * 1024 * 1024;

/**
 * One turn of a composite agent: the state of its children, the checkpoint of the task, and the token
 * usage.
 */
export class WorkflowRun<Checkpoint extends z.infer<typeof checkpointBase>> {
  readonly turn: Turn;
  /** The checkpoint of the task, if this turn continues it. */
  readonly checkpoint: Checkpoint | undefined;
  readonly #saved: SavedTasks<Checkpoint>;
  readonly #logs = new Map<string, JsonObject[]>();
  /** Whether steps share the conversation of the workflow, instead of having their own. */
  readonly #sharesConversation: boolean;
  /** Entries for the log of the shared conversation. */
  readonly #shared: JsonObject[] = [];
  /** The usage of the steps that have ended. */
  usage: Usage;
  #pausedUsage: Usage = noUsage;

  private constructor(
    turn: Turn,
    saved: SavedTasks<Checkpoint>,
    { isContinued, shares }: { readonly isContinued: boolean; readonly shares: boolean },
  ) {
    this.turn = turn;
    this.#sharesConversation = shares;
    this.#saved = saved;
    const stopped = saved.take(turn.taskId);
    this.checkpoint = isContinued ? stopped : undefined;
    this.usage = this.checkpoint?.usage ?? noUsage;
  }

  static async open<Checkpoint extends z.infer<typeof checkpointBase>>(
    turn: Turn,
    format: StoredFormat<Checkpoint>,
    options: {
      readonly isContinued?: boolean;
      readonly value?: JsonObject | undefined;
      /** With `all`, steps share the whole conversation. */
      readonly passes?: 'previous' | 'all';
    } = {},
  ): Promise<WorkflowRun<Checkpoint>> {
    const { isContinued = turn.isContinuation, value = await turn.state.load(), passes } = options;
    const { checkpoints, children } = value ?? {};
    const saved = new SavedTasks(format, checkpoints, children);
    return new WorkflowRun(turn, saved, { isContinued, shares: passes === 'all' });
  }

  /** Calls `abandon` of the steps that wait at a checkpoint whose task was cancelled. */
  static async abandon<Checkpoint extends z.infer<typeof checkpointBase>>(
    turn: Turn,
    format: StoredFormat<Checkpoint>,
    waiting: (checkpoint: Checkpoint) => readonly (Agent | undefined)[],
    value?: JsonObject,
  ): Promise<Pick<TurnEnd, 'context'> | undefined> {
    const run = await WorkflowRun.open(turn, format, { isContinued: true, value });
    if (run.checkpoint === undefined) return undefined;
    const { children } = run.#saved;
    for (const step of waiting(run.checkpoint)) {
      if (step?.abandon === undefined) continue;
      const { name } = step;
      const end = await step.abandon(childTurn(turn, { name, value: children.get(name) }));
      if (end?.context?.value !== undefined) children.set(name, end.context.value);
    }
    return { context: run.#patch() };
  }

  /** Runs a step, unless the journal has its result: then only its artifacts are emitted again. */
  async *step(agent: Agent, options: StepOptions): AsyncGenerator<ProgressEvent, StepResult> {
    const { turn } = this;
    const { name } = agent;
    const { message, isContinuation, key = name, label = name, signal } = options;
    yield working(undefined, { agent: label });
    const journaled = await turn.journal?.read(`step ${key}`);
    if (journaled !== undefined) {
      const result = journaledStep.decode(journaled, key);
      this.#keep(name, result.end);
      for (const each of result.artifacts) yield* shown(each, label, options);
      return result;
    }
    const isRepeated =
      agent.onInterrupted === 'fail' &&
      !((await turn.journal?.claim(`start ${key}`, true)) ?? true);
    if (isRepeated) {
      const end = failure('interrupted', `The agent ${name} was interrupted.`);
      return { end, artifacts: [], parts: [] };
    }
    const child = childTurn(turn, {
      name,
      journalName: key,
      message,
      value: this.#saved.children.get(name),
      pendingLog: this.#logs.get(name) ?? [],
      isContinuation,
      sharesConversation: this.#sharesConversation,
      signal,
    });
    const output = new TurnOutput();
    const events = drive(agent, child, output);
    let next = await events.next();
    try {
      for (; next.done !== true; next = await events.next()) {
        yield* shown(next.value, label, options);
      }
    } finally {
      // End the step if the consumer returns early.
      await events.return({ kind: 'canceled' });
    }
    const end = next.value;
    this.#keep(name, end);
    const result = { end, artifacts: output.artifacts(), parts: output.parts() };
    if (!isPause(end)) {
      await turn.journal?.write(`step ${key}`, journaledStep.encode(result).value);
    }
    return result;
  }

  /** The end of a turn that waits for its caller, at a checkpoint to continue from. */
  pause(end: TurnEnd, checkpoint: Checkpoint): TurnEnd {
    if (JSON.stringify(checkpoint).length > maxCheckpointSize) {
      throw new LegateError(
        'INVALID_AGENT_RESPONSE',
        `what the steps made so far exceeds the ${maxCheckpointSize} characters that are kept while a task waits`,
      );
    }
    this.#saved.stop(this.turn.taskId, checkpoint);
    return this.end(end);
  }

  /** Adds the caller's message and the output of each step to the shared conversation. */
  converse(workflow: string, asked: readonly Part[], made: readonly SaidBy[]): void {
    if (!this.#sharesConversation) return;
    const outputs = made.map(({ name, parts }) => {
      const text = parts.map((each) => each.text ?? JSON.stringify(each.data ?? '')).join('');
      return { role: 'assistant' as const, text: `[${name}] ${text}` };
    });
    this.#shared.push(toLog(workflow, [{ role: 'user', parts: asked }, ...outputs]));
  }

  /** The end of the workflow, with the state to save. */
  end({ metadata: own, ...rest }: TurnEnd): TurnEnd {
    // The total of all steps replaces the usage that the last step reported.
    const metadata = { ...own, ...usageMetadata(addUsage(this.usage, this.#pausedUsage)) };
    const context = this.#patch();
    return { ...rest, ...(Object.keys(metadata).length > 0 && { metadata }), context };
  }

  #patch(): ContextPatch {
    const log = [...this.#logs].flatMap(([name, entries]) => inBranch(name, entries));
    const all = [...log, ...this.#shared];
    return { value: this.#saved.toValue('checkpoints'), ...(all.length > 0 && { log: all }) };
  }

  #keep(name: string, end: TurnEnd): void {
    const { value, log = [] } = end.context ?? {};
    if (value !== undefined) this.#saved.children.set(name, value);
    if (this.#sharesConversation) {
      // The workflow's own entry contains the turn of the step, but not its summaries.
      this.#shared.push(...log.filter(({ entries }) => entries === undefined));
    } else if (log.length > 0) this.#logs.set(name, [...(this.#logs.get(name) ?? []), ...log]);
    // A paused step reports its usage again when it resumes.
    if (isPause(end)) this.#pausedUsage = addUsage(this.#pausedUsage, usageOf(end.metadata));
    else this.usage = addUsage(this.usage, usageOf(end.metadata));
  }
}

/** The event for callers, labelled with the path of its agent to distinguish the steps. */
function* shown(
  event: ProgressEvent,
  step: string,
  { shows, branch }: Pick<StepOptions, 'shows' | 'branch'>,
): Generator<ProgressEvent> {
  const label = (metadata: JsonObject | undefined): JsonObject => {
    const inner = metadata?.['agent'];
    return { ...metadata, agent: typeof inner === 'string' ? `${step}/${inner}` : step };
  };
  const renamed = (made: Artifact): Artifact => ({
    ...made,
    artifactId: `${step}/${made.artifactId}`,
    metadata: { ...label(made.metadata), ...(branch !== undefined && { branch }) },
  });
  if ('kind' in event && event.kind === 'working') {
    yield { ...event, metadata: label(event.metadata) };
  } else if (shows === 'as-is') yield event;
  else if (shows === 'own') {
    yield 'kind' in event ? { ...event, artifact: renamed(event.artifact) } : renamed(event);
  }
}

/** Rejects duplicate names: state is saved by name. */
export function checkSteps(name: string, steps: readonly Agent[]): void {
  if (!Array.isArray(steps)) {
    throw invalidConfiguration(`agent "${name}": its agents must be a list: [one, other]`);
  }
  if (steps.length === 0) {
    throw invalidConfiguration(`agent "${name}" has no agents; give at least one`);
  }
  for (const step of steps) checkAgent(`agent "${name}"`, step);
  const names = steps.map((step) => step.name);
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  if (twice !== undefined) {
    throw invalidConfiguration(
      `agent "${name}": two of its agents are named "${twice}"; state is saved by name, so rename one`,
    );
  }
}

/** A message from one step to the next. Its id is the same when the turn runs again. */
export function stepMessage(turn: Turn, key: string, parts: readonly Part[]): Message {
  const { messageId, metadata } = turn.message;
  return {
    messageId: `${messageId}/${key}`,
    contextId: turn.contextId,
    taskId: turn.taskId,
    role: 'ROLE_USER',
    parts: parts.length > 0 ? parts : [{ text: '' }],
    ...(metadata !== undefined && { metadata }),
  };
}
