import type { Store } from '../store/index.ts';
import type { Engine } from '../tasks/index.ts';
import { observeGauge } from '../telemetry/index.ts';

/** How long a count is reused, in milliseconds: several readers can collect at once. */
const freshMs = 5_000;

/**
 * Observes queued turns, open contexts and webhook deliveries in the store. The store is queried only
 * when metrics are collected. Replicas on one store report the same numbers. Returns a function that
 * stops the observation.
 */
export function observeStore(
  store: Pick<Store, 'counts' | 'push'>,
  engines: readonly Engine[],
): () => void {
  const counts = engines.map(({ agent }) => ({
    labels: { agent: agent.label ?? agent.name },
    read: cached(() => store.counts(agent.name)),
  }));
  const deliveries = cached(() => store.push.counts());
  const stops = [
    observeGauge('legate.turns.queued', async (result) => {
      for (const { labels, read } of counts) {
        const found = await read();
        if (found !== undefined) result.observe(found.queuedTurns, labels);
      }
    }),
    observeGauge('legate.contexts.open', async (result) => {
      for (const { labels, read } of counts) {
        const found = await read();
        if (found !== undefined) result.observe(found.openContexts, labels);
      }
    }),
    observeGauge('legate.contexts.limit', (result) => {
      for (const { agent, maxContexts } of engines) {
        result.observe(maxContexts, { agent: agent.label ?? agent.name });
      }
    }),
    observeGauge('legate.push.deliveries', async (result) => {
      const found = await deliveries();
      for (const [state, count] of Object.entries(found ?? {})) result.observe(count, { state });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Undefined while the store does not answer: no value is better than an outdated one. */
function cached<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let known: { readonly at: number; readonly value: Promise<T | undefined> } | undefined;
  return () => {
    const now = performance.now();
    if (known === undefined || now - known.at >= freshMs) {
      // The store reports its own failures (`store.outage.started`).
      known = { at: now, value: read().catch(() => undefined) };
    }
    return known.value;
  };
}
