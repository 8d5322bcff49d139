import type { Agent } from '../../agents/index.ts';
import type { AgentCard, AgentInterface } from '../../protocol/index.ts';
import { topics } from '../transport/index.ts';

/** How cards name the bus among an agent's interfaces. */
export const busBinding = 'urn:legate:binding:bus';
const scheme = 'legate-bus:';

/** The interface of an agent on the bus, for its card. */
export function busInterface(name: string): AgentInterface {
  return {
    url: `${scheme}${topics.task(name)}`,
    protocolBinding: busBinding,
    protocolVersion: '1.0',
  };
}

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
  const { name, version = '1.0.0', moreInterfaces = [] } = options;
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

/** The name under which a card's agent is reached on the bus; undefined when it is not there. */
export function busNameOf(card: AgentCard): string | undefined {
  const prefix = `${scheme}${topics.task('x').slice(0, -1)}`;
  const found = card.supportedInterfaces.find(
    ({ protocolBinding, url }) => protocolBinding === busBinding && url.startsWith(prefix),
  );
  return found?.url.slice(prefix.length);
}
