import type { Agent } from '../../agents/index.ts';
import { busInterface } from '../../peers/index.ts';
import type { AgentCard, AgentInterface } from '../../protocol/index.ts';
import { checkBusName } from '../transport/checks.ts';

/** What the card of an agent on the bus has besides what the agent says. */
export interface BusCardOptions {
  /** The agent's name on the bus. */
  readonly name: string;
  /** @default '1.0.0' */
  readonly version?: string;
  /** Other ways to reach the agent, named after the bus. */
  readonly moreInterfaces?: readonly AgentInterface[];
}

const defaultModes = ['text/plain', 'application/json'] as const;

/** The card of an agent on the bus. */
export function busCard(agent: Agent, options: BusCardOptions): AgentCard {
  const { version = '1.0.0', moreInterfaces = [] } = options;
  const name = checkBusName(options.name, 'the agent');
  return {
    name,
    description: agent.description,
    version,
    supportedInterfaces: [busInterface(name), ...moreInterfaces],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: agent.inputModes ?? defaultModes,
    defaultOutputModes: agent.outputModes ?? defaultModes,
    skills: agent.skills,
  };
}
