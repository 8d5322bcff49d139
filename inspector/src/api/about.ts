import type { AboutView, AgentView } from '../../../src/http/inspector/model.ts';
import { baseUrl, get } from './api.ts';
import { Resource } from './resource.ts';

const resource = new Resource<AboutView>();
/** The inspected server; undefined until it responds. */
export const about = resource.value;
export const aboutProblem = resource.problem;

export function loadAbout(): Promise<void> {
  return resource.load(() => get('about'));
}

/** The agent of this name; the first one without a name. */
export function ownAgent(named?: string): AgentView | undefined {
  const agents = about.value?.agents ?? [];
  return named === undefined ? agents[0] : agents.find(({ name }) => name === named);
}

/** The A2A address of one of the server's own agents. */
export function agentAddress(name: string): string {
  return new URL(`a2a/${encodeURIComponent(name)}`, baseUrl).href;
}

/** The address of the built-in webhook receiver. */
export function receiverAddress(): string {
  return new URL(`hook/${about.value?.receiverKey ?? ''}`, baseUrl).href;
}
