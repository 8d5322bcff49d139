import type { Agent } from '../agents/index.ts';
import { present } from '../config/index.ts';

type Overrides = Partial<Omit<Agent, 'name'>>;

/**
 * The agent with some members overridden. Methods of the original keep their `this`.
 * @example wrapAgent(agent, { description: 'Answers questions about the weather' })
 */
export function wrapAgent(agent: Agent, overrides: Overrides): Agent {
  const { name, description, skills, inputModes, outputModes } = agent;
  const { serialise, replies, onInterrupted, supersedes, commands } = agent;
  return {
    name,
    description,
    skills,
    ...present({
      inputModes,
      outputModes,
      serialise,
      replies,
      onInterrupted,
      supersedes,
      commands,
    }),
    take: (turn) => agent.take(turn),
    ...(agent.abandon !== undefined && {
      abandon: async (turn) => agent.abandon?.(turn),
    }),
    ...overrides,
  };
}
