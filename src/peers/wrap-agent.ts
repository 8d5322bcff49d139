import type { Agent } from '../agents/index.ts';

type Overrides = Partial<Omit<Agent, 'name'>>;

/**
 * The same agent, save for what is given. The original is called as itself, whatever it is made of.
 * @example wrapAgent(agent, { description: 'Answers questions about the weather' })
 */
export function wrapAgent(agent: Agent, overrides: Overrides): Agent {
  const { inputModes, outputModes, serialise, replies, onInterrupted, supersedes, commands } =
    agent;
  return {
    name: agent.name,
    description: agent.description,
    skills: agent.skills,
    ...(inputModes !== undefined && { inputModes }),
    ...(outputModes !== undefined && { outputModes }),
    ...(serialise !== undefined && { serialise }),
    ...(replies !== undefined && { replies }),
    ...(onInterrupted !== undefined && { onInterrupted }),
    ...(supersedes !== undefined && { supersedes }),
    ...(commands !== undefined && { commands }),
    take: (turn) => agent.take(turn),
    ...(agent.abandon !== undefined && {
      abandon: async (turn) => agent.abandon?.(turn),
    }),
    ...overrides,
  };
}
