import { z } from 'zod';
import {
  checkOptions,
  invalidConfiguration,
  type OptionNames,
  ownerOf,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Agent, Turn, TurnEvent } from '../agent.ts';
import { agent, agentOptionNames, type AgentOptions } from '../define.ts';
import { isPause } from '../drive.ts';
import { checkpointBase, checkSteps, WorkflowRun } from './workflow-run.ts';

/**
 * The agents of a route, and how one of them is selected.
 * @example
 * const options: RouteOptions = {
 *   name: 'desk',
 *   agents: [billing, support],
 *   choose: (turn) => (textOf(turn.message).includes('invoice') ? 'billing' : 'support'),
 * };
 */
export interface RouteOptions extends AgentOptions {
  /** The agents to choose from. */
  readonly agents: readonly Agent[];
  /**
   * Returns the agent that gets the message, or its name. The choice is journaled, so it is made once,
   * even after a crash.
   */
  readonly choose: (turn: Turn) => Agent | string | Promise<Agent | string>;
}

const optionNames: OptionNames<RouteOptions> = {
  ...agentOptionNames,
  agents: true,
  choose: 'function',
};

const checkpointFormat = new StoredFormat({
  name: 'checkpoint of task',
  schema: checkpointBase.extend({ chosen: z.string() }),
});

/**
 * Selects one of several agents for each task: a branch, alone or as a step of another workflow. The
 * answer to a question goes to the agent that asked. Each agent has its own conversation.
 * @example
 * route({
 *   name: 'desk',
 *   agents: [billing, support],
 *   choose: (turn) => (textOf(turn.message).includes('invoice') ? 'billing' : 'support'),
 * })
 */
export function route(options: RouteOptions): Agent {
  checkOptions(ownerOf('agent', options), options, optionNames, ['name']);
  const { agents, choose, ...rest } = options;
  checkSteps(options.name, agents);
  const find = (name: string): Agent | undefined => agents.find((each) => each.name === name);

  async function chosenFor(turn: Turn): Promise<Agent> {
    const journaled = await turn.journal?.read('choice');
    const choice = typeof journaled === 'string' ? journaled : await choose(turn);
    const name = typeof choice === 'string' ? choice : choice.name;
    const found = find(name);
    if (found === undefined) {
      const names = agents.map((each) => each.name).join(', ');
      throw invalidConfiguration(
        `agent "${options.name}" chose "${name}", which is not one of its agents: ${names}`,
      );
    }
    if (journaled === undefined) await turn.journal?.write('choice', name);
    return found;
  }

  async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
    const run = await WorkflowRun.open(turn, checkpointFormat);
    const asking = run.checkpoint && find(run.checkpoint.chosen);
    const chosen = asking ?? (await chosenFor(turn));
    const { end } = yield* run.step(chosen, {
      message: turn.message,
      isContinuation: asking !== undefined,
      shows: 'as-is',
    });
    if (isPause(end)) yield run.pause(end, { chosen: chosen.name, usage: run.usage });
    else yield run.end(end);
  }

  return {
    ...agent({ onInterrupted: 'run-again', ...rest }, take),
    abandon: (turn) => WorkflowRun.abandon(turn, checkpointFormat, ({ chosen }) => [find(chosen)]),
  };
}
