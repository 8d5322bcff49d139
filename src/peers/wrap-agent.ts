import type { Agent } from '../agents/index.ts';
import { present } from '../config/index.ts';

type Overrides = Partial<Omit<Agent, 'name'>>;

/**
 * The agent with some members overridden. Methods of the original keep their `this`.
 * @example wrapAgent(agent, { description: 'Answers questions about the weather' })
 */
export function wrapAgent(agent: Agent, overrides: Overrides): Agent {
  const { name, label, title, inputModes, outputModes } = agent;
  const { serialise, replies, onInterrupted, supersedes, commands } = agent;
  return {
    name,
    // Getters, because the card of a remote agent may arrive later.
    get description() {
      return agent.description;
    },
    get skills() {
      return agent.skills;
    },
    ...present({
      label,
      title,
      inputModes,
      outputModes,
      serialise,
      replies,
      onInterrupted,
      supersedes,
      commands,
    }),
    ...(agent.unavailable !== undefined && { unavailable: () => agent.unavailable?.() }),
    take: (turn) => agent.take(turn),
    ...(agent.prepare !== undefined && {
      prepare: async (signal) => agent.prepare?.(signal),
    }),
    ...(agent.abandon !== undefined && {
      abandon: async (turn) => agent.abandon?.(turn),
    }),
    ...overrides,
  };
}
