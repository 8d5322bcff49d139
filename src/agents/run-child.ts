import { z } from 'zod';
import {
  type AnswerContent,
  type Artifact,
  checkOptions,
  contentOf,
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  LegateError,
  type Message,
  type OptionNames,
  type Part,
  textOf,
  toParts,
} from '../protocol/index.ts';
import { StoredFormat } from '../store/index.ts';
import type { Agent, EndKind, Reply, Turn, TurnEnd } from './agent.ts';
import { checkAgent } from './check-agent.ts';
import { isPause } from './drive.ts';
import { part } from './stored.ts';
import { type Children, childrenKey, type ChildScope, frameOf } from './turn-frame.ts';
import type { ProgressEvent } from './turn-output.ts';
import {
  checkpointBase,
  stepMessage,
  type StepResult,
  stepResult,
  WorkflowRun,
} from './workflow/workflow-run.ts';

/**
 * Options of an agent that runs within the turn of another.
 * @example const options: RunChildOptions = { message: 'Only the totals, please', shows: false };
 */
export interface RunChildOptions {
  /** The message to the child. @default the message that started the task */
  readonly message?: string | Part | readonly Part[];
  /** Whether the caller sees the child's artifacts, under ids that start with its name. @default true */
  readonly shows?: boolean;
  /**
   * Identifies this run within the turn. It must be the same in every attempt of the turn, and after an
   * answer.
   * @default the child's name; `name/2` for its second run in a turn, and so on
   */
  readonly key?: string;
}

const optionNames: OptionNames<RunChildOptions> = {
  message: true,
  shows: 'boolean',
  key: 'string',
};

/**
 * The result of a child.
 * @example const isDone = ({ state }: ChildResult) => state === 'completed';
 */
export interface ChildResult extends AnswerContent {
  readonly state: EndKind;
  /** The parts of the end. */
  readonly parts: readonly Part[];
  readonly artifacts: readonly Artifact[];
  readonly metadata: JsonObject;
}

const checkpointFormat = new StoredFormat({
  name: 'checkpoint of task',
  schema: checkpointBase.extend({
    /** The first message of the caller. */
    asked: z.array(part).readonly(),
    /** The results of the children that ended before the question, by key. */
    results: z.record(z.string(), stepResult),
    /** The key of the child that asks. */
    waiting: z.string(),
    /** The agent of that child. */
    agent: z.string(),
  }),
});
type Checkpoint = ReturnType<typeof checkpointFormat.decode>;

/**
 * Runs another agent within a turn of an `agent` function, with its own state, log and journal. If the
 * child asks its caller, the turn ends with the question. The answer runs the function again from its
 * start: completed children return their results without running again, and the child that asked
 * continues. The same applies after a crash.
 * @example
 * const desk = agent({ name: 'desk' }, async function* (turn) {
 *   const facts = yield* runChild(researcher, turn, { shows: false });
 *   yield* runChild(writer, turn, { message: `Write this up: ${facts.text}` });
 * });
 */
export async function* runChild(
  agent: Agent,
  turn: Turn,
  options: RunChildOptions = {},
): AsyncGenerator<ProgressEvent, ChildResult, undefined> {
  checkAgent('runChild', agent);
  checkOptions(`runChild of "${agent.name}"`, options, optionNames);
  const frame = frameOf(turn);
  if (frame === undefined) {
    throw invalidConfiguration(
      `runChild can't run ${agent.name}: pass the turn that a function of agent() was given`,
    );
  }
  const { children } = frame;
  children.agents.set(agent.name, agent);
  children.abandon ??= (abandoned) => abandonChild(abandoned, children);
  const opening = frame.scope ?? ChildRuns.open(turn);
  frame.scope = opening;
  const runs = await opening;
  if (!(runs instanceof ChildRuns)) throw new TypeError('the turn has another scope');
  return yield* runs.run(agent, options);
}

/** The children of one turn. */
class ChildRuns implements ChildScope {
  readonly #turn: Turn;
  readonly #run: WorkflowRun<Checkpoint>;
  readonly #results: Map<string, StepResult>;
  readonly #asked: readonly Part[];
  readonly #counts = new Map<string, number>();
  #pause: TurnEnd | undefined;

  private constructor(turn: Turn, run: WorkflowRun<Checkpoint>) {
    this.#turn = turn;
    this.#run = run;
    this.#results = new Map(Object.entries(run.checkpoint?.results ?? {}));
    this.#asked = run.checkpoint?.asked ?? turn.message.parts;
  }

  static async open(turn: Turn): Promise<ChildRuns> {
    const value = await childrenValue(turn);
    return new ChildRuns(turn, await WorkflowRun.open(turn, checkpointFormat, { value }));
  }

  get pause(): TurnEnd | undefined {
    return this.#pause;
  }

  async *run(
    agent: Agent,
    { message, shows = true, key = this.#nextKey(agent.name) }: RunChildOptions,
  ): AsyncGenerator<ProgressEvent, ChildResult, undefined> {
    const ended = this.#results.get(key);
    if (ended !== undefined) return toChildResult(ended);
    const isContinuation = this.#run.checkpoint?.waiting === key;
    const result = yield* this.#run.step(agent, {
      message: isContinuation ? this.#turn.message : this.#messageFor(key, message),
      isContinuation,
      shows: shows ? 'own' : 'none',
      key,
      label: key,
    });
    if (isPause(result.end)) {
      const pause = this.#run.pause(result.end, {
        usage: this.#run.usage,
        asked: this.#asked,
        results: Object.fromEntries(this.#results),
        waiting: key,
        agent: agent.name,
      });
      this.#pause = { ...pause, context: await this.#contextOf(pause.context, undefined) };
      throw new LegateError(
        'UNSUPPORTED_OPERATION',
        `${agent.name} asked a question, which ends the turn; don't catch this error`,
      );
    }
    this.#results.set(key, result);
    return toChildResult(result);
  }

  async finish(end: TurnEnd | Reply): Promise<TurnEnd | Reply> {
    if (this.#pause !== undefined) return this.#pause;
    const { metadata, context } = this.#run.end({
      kind: 'completed',
      ...(end.metadata !== undefined && { metadata: end.metadata }),
    });
    const merged = await this.#contextOf(context, end.context);
    return { ...end, ...(metadata !== undefined && { metadata }), context: merged };
  }

  /** Merges the state of the agent with that of its children. */
  async #contextOf(
    ofChildren: TurnEnd['context'],
    own: TurnEnd['context'],
  ): Promise<NonNullable<TurnEnd['context']>> {
    const value = own?.value ?? (await this.#turn.state.load()) ?? {};
    const log = [...(own?.log ?? []), ...(ofChildren?.log ?? [])];
    return {
      ...own,
      value: { ...value, [childrenKey]: ofChildren?.value ?? {} },
      ...(log.length > 0 && { log }),
    };
  }

  #messageFor(key: string, content: RunChildOptions['message']): Message {
    if (content !== undefined) return stepMessage(this.#turn, key, toParts(content));
    if (this.#run.checkpoint === undefined) return this.#turn.message;
    return stepMessage(this.#turn, key, this.#asked);
  }

  #nextKey(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count === 1 ? name : `${name}/${count}`;
  }
}

async function childrenValue(turn: Turn): Promise<JsonObject> {
  const value = (await turn.state.load())?.[childrenKey];
  return isJsonObject(value) ? value : {};
}

/** Calls `abandon` of the child that asks, if this process has run it. */
async function abandonChild(
  turn: Turn,
  { agents }: Children,
): Promise<Omit<TurnEnd, 'kind'> | undefined> {
  const ended = await WorkflowRun.abandon(
    turn,
    checkpointFormat,
    ({ agent }) => [agents.get(agent)],
    await childrenValue(turn),
  );
  if (ended === undefined) return undefined;
  const value = { ...(await turn.state.load()), [childrenKey]: ended.context?.value ?? {} };
  return { context: { ...ended.context, value } };
}

function toChildResult({ end, artifacts, parts }: StepResult): ChildResult {
  const text = textOf({
    artifacts,
    status: {
      state: 'TASK_STATE_COMPLETED',
      ...(end.parts !== undefined && {
        message: { messageId: '', role: 'ROLE_AGENT', parts: end.parts },
      }),
    },
  });
  return {
    state: end.kind,
    parts: end.parts ?? [],
    artifacts,
    metadata: end.metadata ?? {},
    ...contentOf(text, parts),
  };
}
