import { ownerKey, type Store, type TaskPage, type TaskQuery } from '../../store/index.ts';

export type TaskFilter = Omit<TaskQuery, 'owner'> & { readonly owner?: string };

/** Tasks of whoever asked for them. */
export class TaskIndex {
  readonly #store: Store;
  readonly #agents: readonly string[];

  constructor(store: Store, agents: readonly string[]) {
    this.#store = store;
    this.#agents = agents;
  }

  async list(filter: TaskFilter): Promise<TaskPage> {
    const { owner, ...rest } = filter;
    if (owner !== undefined) return this.#store.list({ ...rest, owner });
    const owners = this.#agents.map((agent) => ownerKey({ agent, tenant: '', subject: '' }));
    const pages = await Promise.all(owners.map((key) => this.#store.list({ ...rest, owner: key })));
    const records = pages
      .flatMap((page) => page.records)
      .sort((one, other) => other.statusTime - one.statusTime || (one.id < other.id ? 1 : -1));
    return {
      records: records.slice(0, rest.limit),
      total: pages.reduce((sum, page) => sum + page.total, 0),
      more: pages.some((page) => page.more) || records.length > rest.limit,
    };
  }
}
