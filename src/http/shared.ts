import { CallerLimits, ClusterRate, type ClusterRateOptions, overReplicas } from '../auth/index.ts';
import { openStore, type Store } from '../store/index.ts';
import { type Scheduler, storeScheduler } from '../tasks/index.ts';
import { defaultLogger, type Logger, startTelemetry } from '../telemetry/index.ts';
import { Load } from './load.ts';
import { MetricsDoor } from './metrics-door.ts';
import { PushService } from './push-service.ts';
import { Reach } from './reach.ts';
import { Readiness } from './readiness.ts';
import type { SharedOptions } from './router-options.ts';

/** What agents of one process have in common: where things are kept, webhooks, limits. */
export interface Shared {
  readonly store: Store;
  readonly push: PushService | undefined;
  readonly callerLimits: CallerLimits;
  readonly readiness: Readiness;
  /** Told of requests, so that webhooks can make way for them. */
  readonly load: Load;
  readonly logger: Logger;
  /** Where Prometheus reads them; undefined unless asked for. */
  readonly metricsDoor: MetricsDoor | undefined;
  readonly scheduler: Scheduler;
  /** The name under which webhooks are claimed; the first engine lives under it too. */
  readonly replica: string;
  readonly reach: Reach;
  /** Names under which browsers on this machine may call channels; undefined for any. */
  readonly hostNames: readonly string[] | undefined;
  /** Lets go of the store, if it was opened here. */
  close(): Promise<void>;
}

export async function openShared(options: SharedOptions): Promise<Shared> {
  const { store: storeOption = { type: 'memory' }, logger = defaultLogger } = options;
  const reach = new Reach(options.isLocalOnly ?? false);
  const { prometheus = false } = options;
  const shown = prometheus === false ? undefined : prometheus === true ? {} : prometheus;
  if (shown !== undefined) MetricsDoor.check(shown);
  const isOwnStore = 'type' in storeOption;
  const store = isOwnStore ? await openStore(storeOption, options.scheduler) : storeOption;
  const scheduler = options.scheduler ?? storeScheduler(store);
  // Whoever looks wants to see all of the process: bus, peers and models count by OpenTelemetry.
  const isCounted = shown !== undefined || options.telemetry !== undefined;
  const telemetry = isCounted ? await startTelemetry({ logger, ...options.telemetry }) : undefined;
  const metricsDoor =
    shown === undefined || telemetry === undefined ? undefined : new MetricsDoor(telemetry, shown);
  const replica = scheduler.uuid();
  const load = new Load();
  const push =
    options.push === undefined
      ? undefined
      : new PushService({
          // A simulation has a time of its own, in which this process is never busy.
          ...(options.scheduler === undefined && { allowance: () => load.allowance() }),
          ...options.push,
          store,
          replica,
          reach,
          scheduler,
          logger,
        });
  const { records } = store;
  const clusterRate = options.clusterRate ?? rateOf(store, options);
  return {
    store,
    push,
    callerLimits: new CallerLimits({
      // Limits inside this process go by its monotonic clock.
      ...(options.scheduler !== undefined && { clock: options.scheduler }),
      ...(clusterRate !== undefined && {
        rateLimiter: new ClusterRate({ clock: scheduler, ...clusterRate, records }),
      }),
      ...options.callerLimits,
    }),
    readiness: new Readiness(store, scheduler),
    load,
    logger,
    metricsDoor,
    scheduler,
    replica,
    reach,
    hostNames: options.hostNames,
    async close() {
      await telemetry?.close();
      if (isOwnStore) await store.close();
    },
  };
}

/** Where replicas share a store, a caller's requests are counted over all of them. */
function rateOf(
  { shared }: Store,
  { callerLimits = {} }: SharedOptions,
): Omit<ClusterRateOptions, 'records'> | undefined {
  const { requestsPerSecond = 0, burst } = callerLimits;
  return shared && requestsPerSecond > 0 ? overReplicas(requestsPerSecond, burst) : undefined;
}
