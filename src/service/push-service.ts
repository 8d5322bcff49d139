import type { OptionNames, TaskPushNotificationConfig } from '../protocol/index.ts';
import {
  publicHttpsPolicy,
  type PublicKeySet,
  type PushAttempt,
  PushDispatcher,
  type PushDispatcherOptions,
  type UrlPolicy,
} from '../push/index.ts';
import type { Store } from '../store/index.ts';
import { type Call, type PushHooks, readTaskAt, type Scheduler } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { NetworkExposure } from './service.ts';

export type PushOptions = Partial<
  Omit<PushDispatcherOptions, 'store' | 'replica' | 'scheduler' | 'logger' | 'taskAt' | 'policy'>
> & {
  /**
   * Where webhooks may be. @default https anywhere public; where only this machine can reach the
   * server and no proxy forwarded the request, loopback too
   */
  readonly policy?: UrlPolicy;
};

export const pushNames: OptionNames<PushOptions> = {
  policy: { oneOf: ['object', 'function'] },
  random: 'function',
  signer: 'object',
  traceparent: 'function',
  resolver: { oneOf: ['object', 'function'] },
  maxAttempts: 'number',
  backoff: 'object',
  concurrencyPerHost: 'number',
  timeout: 'number',
  dnsTimeout: 'number',
  connectTimeout: 'number',
  tls: 'object',
  transport: { oneOf: ['object', 'function'] },
  resolveAtRegistration: 'boolean',
  concurrency: 'number',
  pollInterval: 'number',
  allowance: 'function',
  onAttempt: 'function',
};

/** Webhooks of one process: their delivery, and what the engine needs of them. */
export class PushService extends PushDispatcher implements PushHooks {
  readonly jwks: (() => Promise<PublicKeySet>) | undefined;
  readonly #logger: Logger;
  /** The operator configured allowed webhooks, for every caller. */
  readonly #hasPolicy: boolean;
  readonly #watchers: Set<(attempt: PushAttempt) => void>;

  constructor(
    options: PushOptions & {
      readonly store: Store;
      readonly replica: string;
      readonly exposure: NetworkExposure;
      readonly scheduler: Scheduler;
      readonly logger: Logger;
    },
  ) {
    const watchers = new Set<(attempt: PushAttempt) => void>();
    super({
      ...options,
      policy: options.policy ?? policyFor(options.exposure),
      onAttempt: (attempt) => {
        options.onAttempt?.(attempt);
        for (const watcher of watchers) watcher(attempt);
      },
      taskAt: (taskId, sequence) => readTaskAt(options.store, taskId, sequence),
    });
    const { signer, logger } = options;
    this.jwks = signer === undefined ? undefined : () => signer.jwks();
    this.#logger = logger;
    this.#hasPolicy = options.policy !== undefined;
    this.#watchers = watchers;
  }

  override validate(
    config: TaskPushNotificationConfig,
    call: Pick<Call, 'isLocal'> = {},
  ): Promise<void> {
    return this.#hasPolicy || call.isLocal?.() === true
      ? super.validate(config)
      : this.validateBy(publicHttpsPolicy, config);
  }

  override async revive(deliveryId: number): Promise<boolean> {
    const isRevived = await super.revive(deliveryId);
    this.#logger.info({ audit: 'action', deliveryId, isRevived }, 'audit.push.revived');
    return isRevived;
  }

  /** Reports every call to a webhook until the function that is returned is called. */
  watch(watcher: (attempt: PushAttempt) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/**
 * Callers from elsewhere must not make us call this machine; those on it could call it themselves.
 * Deliveries know no caller, and the URL remembers: one that says loopback was registered from this
 * machine, and one that does not may have come through a proxy, so its name must not lead there.
 */
function policyFor(exposure: NetworkExposure): UrlPolicy {
  return {
    ...publicHttpsPolicy,
    loopbackAsWritten: true,
    get allowLoopback() {
      return exposure.isLocalOnly;
    },
  };
}
