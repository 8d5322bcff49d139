import { invalidConfiguration } from '../protocol/index.ts';

/**
 * Throws for values that are not agents, such as a function, a promise of an agent, or an agent of
 * another framework.
 */
export function checkAgent(owner: string, given: unknown): void {
  const problem = problemOf(given);
  if (problem !== undefined) throw invalidConfiguration(`${owner}: ${problem}`);
}

function problemOf(given: unknown): string | undefined {
  if (given instanceof Promise) return 'the agent is a promise; await it first';
  if (typeof given === 'function')
    return 'the agent is a function; make an agent of it: agent({ name }, run)';
  if (typeof given !== 'object' || given === null)
    return 'no agent; make one with agent({ name }, run) or llmAgent({ name, model })';
  if ('take' in given && typeof given.take === 'function') return undefined;
  return 'generate' in given && 'stream' in given
    ? 'the agent is one of the AI SDK; wrap it: fromAiSdk(agent)'
    : 'the object is not an agent; make one with agent({ name }, run) or llmAgent({ name, model })';
}
