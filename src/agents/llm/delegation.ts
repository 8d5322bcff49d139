import type { Agent, Turn } from '../agent.ts';
import { type Tool, tool } from '../tools/tool.ts';

/** Lets an agent that received a conversation transfer it to another agent. */
export interface Delegation {
  /** Possible targets, beside the agent's own sub agents. */
  readonly roster: readonly Pick<Agent, 'name' | 'description'>[];
  /** The target that the agent chose. */
  requested?: string;
}

const delegations = new WeakMap<Turn, Delegation>();

export function delegate(turn: Turn, delegation: Delegation): void {
  delegations.set(turn, delegation);
}

export function delegationOf(turn: Turn): Delegation | undefined {
  return delegations.get(turn);
}

/** Agents that share their parent's conversation: they log it, and can transfer it. */
export const conversationalAgents = new WeakSet<Agent>();

export const transferName = 'transfer_to_agent';

/** The tool by which a model transfers the conversation; the loop handles the call itself. */
export function transferTool(targets: readonly Pick<Agent, 'name' | 'description'>[]): Tool {
  const roster = targets.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  return tool({
    name: transferName,
    description: `Hands the conversation to another agent, who then answers the user. The agents:\n${roster}`,
    input: {
      type: 'object',
      properties: { agent_name: { type: 'string', enum: targets.map(({ name }) => name) } },
      required: ['agent_name'],
    },
    run: () => 'transferred',
  });
}
