import { scoped } from './encoding.ts';

interface Context {
  readonly agent: string;
  readonly owner: string;
  readonly contextId: string;
}

/**
 * Counts the unfinished tasks of each agent's contexts, for the limit of contexts. Reads the tasks on
 * first use and after `invalidate`, and updates the counts in between. The limit bounds the number of
 * entries.
 */
export class OpenContexts {
  readonly #read: () => Iterable<Context>;
  #agents: Map<string, Map<string, number>> | undefined;

  /** `read` returns the context of every unfinished task. */
  constructor(read: () => Iterable<Context>) {
    this.#read = read;
  }

  isFull(context: Context, maxContexts: number): boolean {
    if (maxContexts === 0) return false;
    const agent = this.#counts().get(context.agent);
    return agent !== undefined && agent.size >= maxContexts && !agent.has(nameOf(context));
  }

  sizeOf(agent: string): number {
    return this.#counts().get(agent)?.size ?? 0;
  }

  /** Whether an agent has an unfinished task in this context of an owner. */
  has(owner: string, contextId: string): boolean {
    const name = scoped(owner, contextId);
    return this.#counts()
      .values()
      .some((agent) => agent.has(name));
  }

  add(context: Context): void {
    if (this.#agents !== undefined) count(this.#agents, context);
  }

  remove(context: Context): void {
    const agent = this.#agents?.get(context.agent);
    if (agent === undefined) return;
    const name = nameOf(context);
    const left = (agent.get(name) ?? 0) - 1;
    if (left > 0) agent.set(name, left);
    else agent.delete(name);
  }

  invalidate(): void {
    this.#agents = undefined;
  }

  #counts(): Map<string, Map<string, number>> {
    if (this.#agents === undefined) {
      this.#agents = new Map();
      for (const context of this.#read()) count(this.#agents, context);
    }
    return this.#agents;
  }
}

function count(agents: Map<string, Map<string, number>>, context: Context): void {
  let agent = agents.get(context.agent);
  if (agent === undefined) agents.set(context.agent, (agent = new Map()));
  const name = nameOf(context);
  agent.set(name, (agent.get(name) ?? 0) + 1);
}

function nameOf({ owner, contextId }: Context): string {
  return scoped(owner, contextId);
}

const hour = 60 * 60 * 1000;

/**
 * The end of the hour in which a context was last written. Retention counts whole hours so that
 * stores don't update their index with every turn.
 */
export function retentionBucket(now: number): number {
  return (Math.floor(now / hour) + 1) * hour;
}
