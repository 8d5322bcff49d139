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
   * Allowed URLs of webhooks. @default public https URLs; also loopback if only this machine can reach
   * the server and no proxy forwarded the request
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

/** The webhooks of one process: delivers them, and implements the hooks of the engine. */
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

  /** Calls `watcher` after every delivery attempt, until the returned function is called. */
  watch(watcher: (attempt: PushAttempt) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/**
 * Remote callers must not make this process call its own machine; callers on this machine could call it
 * themselves. A delivery has no caller, so its URL decides: a URL with a loopback address was registered
 * from this machine. Any other URL may have come through a proxy, so its name must not resolve to loopback.
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
