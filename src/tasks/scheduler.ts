import type { Clock } from '../agents/index.ts';
import type { Store } from '../store/index.ts';
import { timeOrderedUuid } from './uuid.ts';

/**
 * Time and chance as the engine sees them, so that a simulation can supply its own.
 * @example const tomorrow: Scheduler = { ...systemScheduler, now: () => Date.now() + 86_400_000 };
 */
export interface Scheduler extends Clock {
  /** Runs `callback` once after `delay` milliseconds. A timer alone keeps no process alive. */
  after(delay: number, callback: () => void): Timer;
  /** Runs `callback` once the work at hand is done, before the next timer. */
  soon(callback: () => void): void;
  /** A new id; later ones sort after earlier ones, which keeps the store's indexes compact. */
  uuid(): string;
}

export interface Timer {
  cancel(): void;
  /** Starts the delay anew. */
  restart(): void;
}

/**
 * The machine's own clock, timers and random numbers.
 * @example const scheduler = { ...systemScheduler, now: () => 0 };
 */
export const systemScheduler: Scheduler = {
  now: () => Date.now(),
  after(delay, callback) {
    const timer = setTimeout(callback, delay).unref();
    return { cancel: () => clearTimeout(timer), restart: () => void timer.refresh() };
  },
  soon: (callback) => void setImmediate(callback),
  uuid: () => timeOrderedUuid(Date.now()),
};

/**
 * The machine's own timers and ids with the clock of a store, by which all its replicas go: two
 * replicas whose wall clocks differ still agree on what has expired and what is due.
 * @example const engine = await Engine.start({ agent, store, scheduler: storeScheduler(store) });
 */
export function storeScheduler({ clock }: Pick<Store, 'clock'>): Scheduler {
  return { ...systemScheduler, now: () => clock.now() };
}
