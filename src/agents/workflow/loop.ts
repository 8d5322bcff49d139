import { z } from 'zod';
import {
  type Artifact,
  checkOptions,
  invalidConfiguration,
  type JsonObject,
  type OptionNames,
  ownerOf,
  type Part,
  textOf,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Agent, Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { agent, agentOptionNames, type AgentOptions } from '../define.ts';
import { isPause } from '../drive.ts';
import { type Tool, tool } from '../tools/tool.ts';
import { joinSections } from '../turn-output.ts';
import { artifact, part } from '../stored.ts';
import { checkpointBase, checkSteps, escalates, stepMessage, WorkflowRun } from './workflow-run.ts';

/**
 * The result of one round of a loop.
 * @example const isGoodEnough = ({ text, iteration }: LoopResult) => text.length < 280 || iteration === 3;
 */
export interface LoopResult {
  readonly parts: readonly Part[];
  readonly text: string;
  /** Rounds so far, from 1. */
  readonly iteration: number;
}

/**
 * The steps of a loop, and when it ends.
 * @example
 * const options: LoopOptions = {
 *   name: 'polish',
 *   steps: [writer, critic],
 *   until: ({ text }) => text.includes('no remarks'),
 * };
 */
export interface LoopOptions extends AgentOptions {
  /** The agents of one round, in order. */
  readonly steps: readonly Agent[];
  /** Maximum number of rounds; the loop then ends with its current result. @default 8 */
  readonly maxIterations?: number;
  /** Asked after each round: true ends the loop. */
  readonly until?: (result: LoopResult, turn: Turn) => boolean | Promise<boolean>;
  /**
   * The input of a step. `previous`: the output of the previous step, and the step's own conversation.
   * `all`: the whole conversation, which is the caller's message and the outputs of all steps so far,
   * after the earlier turns that an `llmAgent` shows to its model.
   * @default 'previous'
   */
  readonly passes?: 'previous' | 'all';
  /**
   * The artifacts that the caller gets: those of the result, or those of all steps of all rounds.
   * @default 'result'
   */
  readonly shows?: 'result' | 'all';
}

const optionNames: OptionNames<LoopOptions> = {
  ...agentOptionNames,
  steps: true,
  maxIterations: 'number',
  until: 'function',
  passes: ['previous', 'all'],
  shows: ['result', 'all'],
};

const checkpointFormat = new StoredFormat({
  name: 'checkpoint of task',
  schema: checkpointBase.extend({
    iteration: z.number(),
    /** The step that waits. */
    at: z.number(),
    /** The first message of the caller; absent in checkpoints of earlier versions. */
    asked: z.array(part).readonly().exactOptional(),
    /** The output of the previous step. */
    made: z.array(part).readonly(),
    /** The caller's message and the outputs of all steps, for `passes: 'all'`. */
    all: z.array(part).readonly().exactOptional(),
    result: z.array(artifact).readonly(),
  }),
});

type Checkpoint = ReturnType<typeof checkpointFormat.decode>;

/**
 * Runs agents in sequence repeatedly: the first step gets the output of the last one. The loop ends
 * when a step ends it (`exitLoop`, or metadata `escalate: true`), when `until` returns true, or after
 * `maxIterations`. The result is the output of the last step that did not itself end the loop.
 * @example loop({ name: 'polish', steps: [writer, critic], maxIterations: 4 })
 */
export function loop(options: LoopOptions): Agent {
  checkOptions(ownerOf('agent', options), options, optionNames, ['name']);
  const {
    steps,
    maxIterations = 8,
    until,
    shows = 'result',
    passes = 'previous',
    ...rest
  } = options;
  checkSteps(options.name, steps);
  if (!Number.isInteger(maxIterations) || maxIterations < 1) {
    const message = `agent "${options.name}": maxIterations must be 1 or more`;
    throw invalidConfiguration(message);
  }

  async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
    const run = await WorkflowRun.open(turn, checkpointFormat, { passes });
    const { checkpoint } = run;
    const { parts } = turn.message;
    const start = { made: parts, asked: parts, all: undefined, result: [], ...checkpoint };
    const { asked } = start;
    let { made, result }: Pick<Checkpoint, 'made' | 'result'> = start;
    const given = new Passed(passes, made, start.all);
    let isFirst = true;
    const finish = function* (iteration: number, more: JsonObject): Generator<TurnEvent> {
      if (shows === 'result') yield* result;
      const parts = joinSections(result.map((each) => each.parts));
      run.converse(options.name, asked, [{ name: options.name, parts }]);
      const end: TurnEnd = { kind: 'completed', metadata: { iterations: iteration, ...more } };
      yield run.end(end);
    };
    for (let iteration = checkpoint?.iteration ?? 1; iteration <= maxIterations; iteration += 1) {
      for (const [index, step] of steps.entries()) {
        if (isFirst && index < (checkpoint?.at ?? 0)) continue;
        const key = `${step.name}/${iteration}`;
        const events = run.step(step, {
          key,
          message: isFirst ? turn.message : stepMessage(turn, key, given.parts),
          isContinuation: isFirst && checkpoint !== undefined,
          shows: shows === 'all' ? 'own' : 'none',
        });
        isFirst = false;
        const { end, artifacts, parts } = yield* events;
        if (isPause(end)) {
          yield run.pause(end, {
            ...given.saved,
            asked,
            iteration,
            at: index,
            made,
            result,
            usage: run.usage,
          });
          return;
        }
        if (end.kind !== 'completed') {
          yield run.end(end);
          return;
        }
        const isExit = escalates(end);
        if (!isExit || result.length === 0) result = toArtifacts(artifacts, end);
        if (isExit) {
          yield* finish(iteration, {});
          return;
        }
        made = parts;
        given.add(parts);
      }
      if (
        (await until?.({ parts: made, text: textOf({ parts: made }), iteration }, turn)) === true
      ) {
        yield* finish(iteration, {});
        return;
      }
    }
    yield* finish(maxIterations, { exhausted: true });
  }

  return {
    ...agent({ onInterrupted: 'run-again', ...rest }, take),
    abandon: (turn) => WorkflowRun.abandon(turn, checkpointFormat, ({ at }) => [steps[at]]),
  };
}

/** The input of the next step. */
class Passed {
  readonly #passes: 'previous' | 'all';
  #parts: readonly Part[];

  constructor(passes: 'previous' | 'all', made: readonly Part[], all = made) {
    this.#passes = passes;
    this.#parts = passes === 'all' ? all : made;
  }

  get parts(): readonly Part[] {
    return this.#parts;
  }

  /** For the checkpoint, which already contains the output of the last step. */
  get saved(): { readonly all?: readonly Part[] } {
    return this.#passes === 'all' ? { all: this.#parts } : {};
  }

  add(made: readonly Part[]): void {
    this.#parts = this.#passes === 'all' ? joinSections([this.#parts, made]) : made;
  }
}

/** The artifacts of a step; if there are none, the parts of its end. */
function toArtifacts(artifacts: readonly Artifact[], end: TurnEnd): readonly Artifact[] {
  if (artifacts.length > 0 || end.parts === undefined) return artifacts;
  return [{ artifactId: 'result', parts: end.parts }];
}

/**
 * A tool for models: ends the enclosing loop.
 * @example llmAgent({ name: 'critic', model, tools: [exitLoop()] })
 */
export function exitLoop(): Tool {
  return tool({
    name: 'exit_loop',
    description: 'Ends the repetition. Call it when the work needs no further round.',
    isIdempotent: true,
    run: (_, context) => {
      context.endTurn({ escalate: true });
      return 'the loop ends';
    },
  });
}
