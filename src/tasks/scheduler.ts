import type { Clock } from '../agents/index.ts';
import { isStoreFailure, type Store } from '../store/index.ts';
import { afterDelay, retry, sleep } from '../time/index.ts';

/**
 * Clock, timers, random numbers and ids of the engine, so that a simulation can supply its own.
 * @example const tomorrow: Scheduler = { ...systemScheduler, now: () => Date.now() + 86_400_000 };
 */
export interface Scheduler extends Clock {
  /**
   * Runs `callback` once after `delay` milliseconds; never after `Infinity`. A timer alone keeps no process
   * alive.
   */
  after(delay: number, callback: () => void): Timer;
  /** Runs `callback` after the current work, before the next timer. */
  defer(callback: () => void): void;
  /** A new id; later ones sort after earlier ones, which keeps the store's indexes compact. */
  uuid(): string;
}

export interface Timer {
  cancel(): void;
  /** Restarts the delay. */
  restart(): void;
}

/**
 * The machine's own clock, timers and random numbers.
 * @example const scheduler = { ...systemScheduler, now: () => 0 };
 */
export const systemScheduler: Scheduler = {
  now: () => Date.now(),
  after(delay, callback) {
    let timer: NodeJS.Timeout | undefined;
    let parts = 0;
    const start = (): void => {
      parts = 0;
      afterDelay(delay, callback, (part, next) => {
        parts += 1;
        timer = setTimeout(next, part).unref();
      });
    };
    const cancel = (): void => clearTimeout(timer);
    start();
    return {
      cancel,
      restart() {
        // Agents restart the timer with each event; a refresh creates no other timer.
        if (parts === 1) return void timer?.refresh();
        cancel();
        return start();
      },
    };
  },
  defer: (callback) => void setImmediate(callback),
  uuid: () => timeOrderedUuid(Date.now()),
};

/**
 * The machine's own timers and ids with the clock of a store, which all its replicas use: two replicas
 * whose wall clocks differ still agree on which leases have expired and which work is due.
 * @example const engine = await Engine.start({ agent, store, scheduler: storeScheduler(store) });
 */
export function storeScheduler({ clock }: Pick<Store, 'clock'>): Scheduler {
  return { ...systemScheduler, now: () => clock.now() };
}

/** Random bytes are drawn in bulk: a draw costs far more than the ten bytes of one id. */
const pool = new Uint8Array(10 * 256);
let used = pool.length;

const digits = Buffer.from('0123456789abcdef');
/** The last id. The next one reuses its hyphens and, within the same millisecond, its time. */
const id = Buffer.from('00000000-0000-7000-8000-000000000000');
/** The time of the last id in milliseconds, and the counter within that millisecond. */
let time = Number.NaN;
let count = 0;

const lastCount = 0xfff;
/** When the clock goes back by less than this, in milliseconds, ids keep the later time. */
const maxRegression = 1_000;

/**
 * A UUID of version 7: 48 bits of time in milliseconds, 12 bits that count from a random number on,
 * 62 random bits (RFC 9562, section 6.2, method 1). Each id sorts after all earlier ones, so that an
 * index of them grows at its end. The string is created in one piece: V8 would keep a concatenated string
 * as a tree of its parts, for thousands of ids.
 */
export function timeOrderedUuid(now: number): string {
  if (used > pool.length - 10) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const isOfLastTime = now <= time && now > time - maxRegression;
  if (!isOfLastTime) startMillisecond(now);
  // The counter of this millisecond is full: continue in the next one.
  else if (count === lastCount) startMillisecond(time + 1);
  else count += 1;
  write(14, 0x70 | (count >> 8));
  write(16, count & 0xff);
  write(19, 0x80 | (random() & 0x3f));
  write(21, random());
  for (let at = 24; at < 36; at += 2) write(at, random());
  return id.toString('latin1');
}

/** Starts a millisecond, with a random counter in the lower half of its range. */
function startMillisecond(at: number): void {
  time = at;
  count = ((random() & 0x07) << 8) | random();
  const text = at.toString(16).padStart(12, '0');
  id.write(`${text.slice(0, 8)}-${text.slice(8)}`, 'latin1');
}

function random(): number {
  return pool[used++] ?? 0;
}

function write(at: number, byte: number): void {
  id[at] = digits[byte >> 4] ?? 0;
  id[at + 1] = digits[byte & 0x0f] ?? 0;
}

/** Milliseconds between attempts while the store is unavailable: about 30 s in all. */
const delays: readonly number[] = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800];

/**
 * Retries an idempotent operation while the store is unavailable (`STORE_FAILED`). The signal ends a
 * wait, and rejects with its reason.
 */
export function retryWhileUnavailable<T>(
  scheduler: Scheduler,
  work: (attempt: number) => Promise<T>,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<T> {
  return retry(work, {
    delays,
    isRetryable: isStoreFailure,
    sleep: (milliseconds) => sleep(milliseconds, signal, scheduler),
  });
}
