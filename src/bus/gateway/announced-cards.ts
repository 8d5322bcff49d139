import { z } from 'zod';
import type { AgentCard } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';

/** Cards are validated when they arrive; stored ones are only checked for their shape. */
const card = z.custom<AgentCard>(
  (value) => typeof value === 'object' && value !== null && 'skills' in value && 'name' in value,
  'must be an agent card',
);

/**
 * The cards of the agents behind a gateway: announced now, or stored by an earlier gateway for agents
 * that run on demand.
 */
export class AnnouncedCards {
  /** Keyed by agent name. */
  readonly known = new Map<string, AgentCard>();
  /** Called with each announced card, once set. */
  onCard: ((card: AgentCard) => Promise<void>) | undefined;
  readonly #stored: RecordSpace<AgentCard>;
  readonly #names: readonly string[];
  readonly #missing: Set<string>;
  readonly #complete = Promise.withResolvers<void>();
  readonly #scheduler: Scheduler;

  constructor(
    records: RecordStore,
    options: { readonly names: readonly string[]; readonly scheduler: Scheduler },
  ) {
    const { names, scheduler } = options;
    this.#stored = new RecordSpace({
      records,
      space: 'gateway-cards',
      schema: card,
      clock: scheduler,
    });
    this.#names = names;
    this.#missing = new Set(names);
    this.#scheduler = scheduler;
  }

  async load(): Promise<void> {
    for (const name of this.#names) {
      const stored = await this.#stored.get(name);
      if (stored !== undefined) this.known.set(name, stored.value);
    }
  }

  readonly take = async (announced: AgentCard): Promise<void> => {
    const { name } = announced;
    if (!this.#names.includes(name)) return;
    const before = this.known.get(name);
    this.known.set(name, announced);
    if (JSON.stringify(before) !== JSON.stringify(announced)) {
      await this.#stored.write(this.#stored.toWrite(name, announced));
    }
    this.#missing.delete(name);
    if (this.#missing.size === 0) this.#complete.resolve();
    await this.onCard?.(announced);
  };

  /** Resolves when all agents have announced themselves, or after the given time. */
  async all(milliseconds: number): Promise<void> {
    const timer = this.#scheduler.after(milliseconds, () => this.#complete.resolve());
    await this.#complete.promise;
    timer.cancel();
  }
}
