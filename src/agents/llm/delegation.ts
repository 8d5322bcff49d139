import type { Agent, Turn } from '../agent.ts';
import { type Tool, tool } from '../tools/tool.ts';

/** How an agent that was handed a conversation can hand it on. */
export interface Delegation {
  /** Whom it can go to, beside the agent's own sub agents. */
  readonly roster: readonly Pick<Agent, 'name' | 'description'>[];
  /** Whom it was handed to. */
  requested?: string;
}

const delegations = new WeakMap<Turn, Delegation>();

export function delegate(turn: Turn, delegation: Delegation): void {
  delegations.set(turn, delegation);
}

export function delegationOf(turn: Turn): Delegation | undefined {
  return delegations.get(turn);
}

/** Agents that take part in a shared conversation: they log it, and can hand it on. */
export const conversationalAgents = new WeakSet<Agent>();

export const transferName = 'transfer_to_agent';

/** The tool by which a model hands the conversation on; the loop itself carries it out. */
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
