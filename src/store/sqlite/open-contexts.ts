import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { scoped } from '../scoped.ts';

interface Context {
  readonly agent: string;
  readonly owner: string;
  readonly contextId: string;
}

/**
 * Counts the unfinished tasks of each agent's contexts, for the limit of contexts. Read from the
 * file when first asked for, and again after `invalidate`; kept up to date in between. Holds no more
 * entries than the limit lets in.
 */
export class OpenContexts {
  readonly #read: StatementSync;
  readonly #beforeRead: () => void;
  #agents: Map<string, Map<string, number>> | undefined;

  /** `beforeRead` writes tasks that are not in the file yet. */
  constructor(database: DatabaseSync, beforeRead: () => void) {
    this.#beforeRead = beforeRead;
    this.#read = database.prepare(
      'SELECT agent, owner, context_id FROM tasks WHERE state NOT IN (3, 4, 5, 7)',
    );
  }

  isFull(context: Context, maxContexts: number): boolean {
    if (maxContexts === 0) return false;
    if (this.#agents === undefined) this.#load();
    const agent = this.#agents?.get(context.agent);
    return agent !== undefined && agent.size >= maxContexts && !agent.has(nameOf(context));
  }

  add(context: Context): void {
    if (this.#agents === undefined) return;
    let agent = this.#agents.get(context.agent);
    if (agent === undefined) this.#agents.set(context.agent, (agent = new Map()));
    const name = nameOf(context);
    agent.set(name, (agent.get(name) ?? 0) + 1);
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

  #load(): void {
    this.#beforeRead();
    this.#agents = new Map();
    for (const row of this.#read.iterate()) {
      this.add({
        agent: String(row['agent']),
        owner: String(row['owner']),
        contextId: String(row['context_id']),
      });
    }
  }
}

function nameOf({ owner, contextId }: Context): string {
  return scoped(owner, contextId);
}
