import {
  type Artifact,
  type JsonObject,
  LegateError,
  type Message,
  type Part,
} from '../../protocol/index.ts';
import type { Agent, ContextPatch, Turn, TurnEnd } from '../agent.ts';
import { ChildTurn, inBranch } from '../child-turn.ts';
import { drive, isPause } from '../drive.ts';
import { SavedTasks } from '../saved-tasks.ts';
import { TurnOutput, type ProgressEvent } from '../turn-output.ts';
import { addUsage, noUsage, type Usage, usageMetadata, usageOf } from '../usage.ts';

/** Whether a step also ends the workflows around it. */
export function escalates(end: { readonly metadata?: JsonObject }): boolean {
  return end.metadata?.['escalate'] === true;
}

/** The outcome of a step. */
export interface StepResult {
  readonly end: TurnEnd;
  readonly artifacts: readonly Artifact[];
  readonly parts: readonly Part[];
  /** Taken from the journal: it ran before its process died, and what it said may be lost. */
  readonly isReplayed: boolean;
}

export interface StepOptions {
  readonly message: Message;
  /** Whether the message answers a question of the step. */
  readonly isContinuation: boolean;
  /** Distinguishes runs of the same step within a turn. @default the step's name */
  readonly key?: string;
  readonly signal?: AbortSignal;
}

const maxCheckpointSize = 2 * 1024 * 1024;

/**
 * One turn of a composite agent: the state of its children, the checkpoint of the task, and the
 * usage.
 */
export class WorkflowRun<Checkpoint extends object> {
  readonly turn: Turn;
  /** Where the task stopped, if this turn continues it. */
  readonly checkpoint: Checkpoint | undefined;
  readonly #saved: SavedTasks<Checkpoint>;
  readonly #logs = new Map<string, JsonObject[]>();
  #usage: Usage = noUsage;
  #pausedUsage: Usage = noUsage;

  private constructor(turn: Turn, value: JsonObject | undefined, isContinued: boolean) {
    this.turn = turn;
    this.#saved = new SavedTasks(value?.['checkpoints'], value?.['children']);
    const stopped = this.#saved.take(turn.taskId);
    this.checkpoint = isContinued ? stopped : undefined;
    this.#usage = addUsage(noUsage, (this.checkpoint as { usage?: Partial<Usage> })?.usage ?? {});
  }

  static async open<Checkpoint extends object>(turn: Turn): Promise<WorkflowRun<Checkpoint>> {
    return new WorkflowRun<Checkpoint>(turn, await turn.state.load(), turn.isContinuation);
  }

  /** Lets the steps that wait at a checkpoint forget their questions: the task was cancelled there. */
  static async abandon<Checkpoint extends object>(
    turn: Turn,
    waiting: (checkpoint: Checkpoint) => readonly (Agent | undefined)[],
  ): Promise<Pick<TurnEnd, 'context'> | undefined> {
    const run = new WorkflowRun<Checkpoint>(turn, await turn.state.load(), true);
    if (run.checkpoint === undefined) return undefined;
    for (const step of waiting(run.checkpoint)) if (step !== undefined) await run.#abandon(step);
    return { context: run.#patch() };
  }

  /** Runs a step, unless the journal has its result. */
  async *step(agent: Agent, options: StepOptions): AsyncGenerator<ProgressEvent, StepResult> {
    const { turn } = this;
    const { name } = agent;
    const { message, isContinuation, key = name, signal } = options;
    const journaled = (await turn.journal?.read(`step ${key}`)) as JournaledStep | undefined;
    if (journaled !== undefined) {
      this.#keep(name, journaled.end);
      return { ...journaled, isReplayed: true };
    }
    const child = new ChildTurn(turn, {
      name,
      journalName: key,
      message,
      value: this.#saved.children.get(name),
      pendingLog: this.#logs.get(name) ?? [],
      isContinuation,
      ...(signal !== undefined && { signal }),
    });
    const output = new TurnOutput();
    const end = yield* drive(agent, child, output);
    this.#keep(name, end);
    const result = { end, artifacts: output.artifacts(), parts: output.parts() };
    if (!isPause(end)) {
      await turn.journal?.write(`step ${key}`, result as unknown as JsonObject);
    }
    return { ...result, isReplayed: false };
  }

  /** The end of a turn that waits for its caller, at a place to go on from. */
  pause(end: TurnEnd, checkpoint: Checkpoint): TurnEnd {
    const usage = this.#usage;
    const kept = { ...checkpoint, usage };
    if (JSON.stringify(kept).length > maxCheckpointSize) {
      throw new LegateError(
        'INVALID_AGENT_RESPONSE',
        `what the steps made so far exceeds the ${maxCheckpointSize} characters that are kept while a task waits`,
      );
    }
    this.#saved.stop(this.turn.taskId, kept);
    return this.end(end);
  }

  /** The end of the workflow, with the state to save. */
  end(end: TurnEnd): TurnEnd {
    // The total of all steps replaces the usage that the last step reported.
    const total = usageMetadata(addUsage(this.#usage, this.#pausedUsage));
    const metadata = { ...end.metadata, ...total };
    const { metadata: _, context: __, ...rest } = end;
    return {
      ...rest,
      ...(Object.keys(metadata).length > 0 && { metadata }),
      context: this.#patch(),
    };
  }

  async #abandon(agent: Agent): Promise<void> {
    const { name } = agent;
    const child = new ChildTurn(this.turn, { name, value: this.#saved.children.get(name) });
    const end = await agent.abandon?.(child);
    if (end?.context?.value !== undefined) this.#saved.children.set(name, end.context.value);
  }

  #patch(): ContextPatch {
    const log = [...this.#logs].flatMap(([name, entries]) => inBranch(name, entries));
    return { value: this.#saved.toValue('checkpoints'), ...(log.length > 0 && { log }) };
  }

  #keep(name: string, end: TurnEnd): void {
    const { value, log = [] } = end.context ?? {};
    if (value !== undefined) this.#saved.children.set(name, value);
    if (log.length > 0) this.#logs.set(name, [...(this.#logs.get(name) ?? []), ...log]);
    // A paused step reports its usage again when it resumes.
    if (isPause(end)) this.#pausedUsage = addUsage(this.#pausedUsage, usageOf(end.metadata));
    else this.#usage = addUsage(this.#usage, usageOf(end.metadata));
  }
}

type JournaledStep = Omit<StepResult, 'isReplayed'>;

/** Rejects duplicate names: state is saved by name. */
export function checkSteps(name: string, steps: readonly Agent[]): void {
  if (steps.length === 0) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `agent "${name}" has no agents; give at least one`,
    );
  }
  const names = steps.map((step) => step.name);
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  if (twice !== undefined) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `agent "${name}": two of its agents are named "${twice}"; state is saved by name, so rename one`,
    );
  }
}

/** A message from one step to the next. The same for a turn that runs again. */
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
