import { z } from 'zod';
import { checkOptions, type OptionNames, ownerOf } from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Agent, Turn, TurnEvent } from '../agent.ts';
import { agent, agentOptionNames, type AgentOptions } from '../define.ts';
import { isPause } from '../drive.ts';
import { part } from '../stored.ts';
import { joinSections } from '../turn-output.ts';
import { checkpointBase, checkSteps, escalates, stepMessage, WorkflowRun } from './workflow-run.ts';

/**
 * The steps of a sequence, and what they pass on.
 * @example const options: SequentialOptions = { name: 'article', steps: [researcher, writer], passes: 'all' };
 */
export interface SequentialOptions extends AgentOptions {
  /** The agents, in order. */
  readonly steps: readonly Agent[];
  /**
   * The input of a step. `previous`: the output of the previous step, and the step's own conversation.
   * `all`: the whole conversation, which is the caller's message and the outputs of all previous steps,
   * after the earlier turns that an `llmAgent` shows to its model.
   * @default 'previous'
   */
  readonly passes?: 'previous' | 'all';
  /** The steps whose artifacts the caller sees; with `all`, artifact ids are prefixed by the step. @default 'last' */
  readonly shows?: 'last' | 'all';
}

const optionNames: OptionNames<SequentialOptions> = {
  ...agentOptionNames,
  steps: true,
  passes: ['previous', 'all'],
  shows: ['last', 'all'],
};

const checkpointFormat = new StoredFormat({
  name: 'checkpoint of task',
  schema: checkpointBase.extend({
    /** The step that waits. */
    at: z.number(),
    /** The first message of the caller. */
    asked: z.array(part).readonly(),
    /** The outputs of the previous steps. */
    made: z.array(z.array(part).readonly()).readonly(),
  }),
});

/**
 * Runs agents in sequence: each gets the output of the previous step. The sequence ends with the first
 * step that does not complete, or that escalates. A step that asks resumes with the answer; completed
 * steps do not run again.
 * @example sequential({ name: 'article', steps: [researcher, writer, editor] })
 */
export function sequential(options: SequentialOptions): Agent {
  checkOptions(ownerOf('agent', options), options, optionNames, ['name']);
  const { steps, passes = 'previous', shows = 'last', ...rest } = options;
  checkSteps(options.name, steps);

  async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
    const run = await WorkflowRun.open(turn, checkpointFormat, { passes });
    const { checkpoint } = run;
    const asked = checkpoint?.asked ?? turn.message.parts;
    const made = [...(checkpoint?.made ?? [])];
    const start = checkpoint?.at ?? 0;
    for (const [index, step] of steps.entries()) {
      if (index < start) continue;
      const isFirst = index === start;
      const given = passes === 'all' ? joinSections([asked, ...made]) : (made.at(-1) ?? asked);
      const isLast = index === steps.length - 1;
      const visible = shows === 'all' ? 'own' : isLast ? 'as-is' : 'none';
      const { end, parts, artifacts } = yield* run.step(step, {
        message: isFirst ? turn.message : stepMessage(turn, step.name, given),
        isContinuation: isFirst && checkpoint !== undefined,
        shows: visible,
      });
      if (isPause(end)) {
        yield run.pause(end, { at: index, asked, made, usage: run.usage });
        return;
      }
      if (end.kind !== 'completed' || isLast || escalates(end)) {
        if (visible === 'none' && end.kind === 'completed') yield* artifacts;
        if (end.kind === 'completed') {
          const said = [...made, parts].map((each, at) => ({
            name: steps[at]?.name ?? '',
            parts: each,
          }));
          run.converse(options.name, asked, said);
        }
        yield run.end(end);
        return;
      }
      made.push(parts);
    }
  }

  return {
    ...agent({ onInterrupted: 'run-again', ...rest }, take),
    abandon: (turn) => WorkflowRun.abandon(turn, checkpointFormat, ({ at }) => [steps[at]]),
  };
}
