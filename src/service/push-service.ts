import type { TaskPushNotificationConfig } from '../protocol/index.ts';
import {
  type BodySigner,
  publicHttpsPolicy,
  type PushAttempt,
  PushDispatcher,
  type PushDispatcherOptions,
  type PublicKeySet,
  type UrlPolicy,
} from '../push/index.ts';
import type { Store } from '../store/index.ts';
import { type Call, type PushHooks, readTaskAt, type Scheduler } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Reach } from './service.ts';

export type PushOptions = Partial<
  Omit<PushDispatcherOptions, 'store' | 'replica' | 'scheduler' | 'logger' | 'taskAt' | 'policy'>
> & {
  /**
   * Where webhooks may be. @default https anywhere public; where only this machine can reach the
   * server and no proxy forwarded the request, loopback too
   */
  readonly policy?: UrlPolicy;
};

/** Webhooks of one process: what the engine needs of them, and their delivery. */
export class PushService implements PushHooks {
  readonly dispatcher: PushDispatcher;
  readonly jwks: (() => PublicKeySet) | undefined;
  readonly #logger: Logger;
  /** The operator said where webhooks may be, whoever asks. */
  readonly #hasPolicy: boolean;
  readonly #watchers = new Set<(attempt: PushAttempt) => void>();

  constructor(
    options: PushOptions & {
      readonly store: Store;
      readonly replica: string;
      readonly reach: Reach;
      readonly scheduler: Scheduler;
      readonly logger: Logger;
    },
  ) {
    this.#logger = options.logger;
    this.#hasPolicy = options.policy !== undefined;
    const signer: BodySigner | undefined = options.signer;
    this.jwks = signer === undefined ? undefined : () => signer.jwks();
    this.dispatcher = new PushDispatcher({
      ...options,
      policy: options.policy ?? policyFor(options.reach),
      onAttempt: (attempt) => {
        options.onAttempt?.(attempt);
        for (const watcher of this.#watchers) watcher(attempt);
      },
      taskAt: (taskId, sequence) => readTaskAt(options.store, taskId, sequence),
    });
  }

  validate(config: TaskPushNotificationConfig, call: Pick<Call, 'isLocal'>): Promise<void> {
    return this.#hasPolicy || call.isLocal === true
      ? this.dispatcher.validate(config)
      : this.dispatcher.validateBy(publicHttpsPolicy, config);
  }

  redact(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
    return this.dispatcher.redact(config);
  }

  wake(): void {
    this.dispatcher.wake();
  }

  /** Gives a dead delivery another round of attempts. False when there is none of that id. */
  async revive(deliveryId: number): Promise<boolean> {
    const isRevived = await this.dispatcher.revive(deliveryId);
    this.#logger.info({ audit: 'action', deliveryId, isRevived }, 'audit.push.revived');
    return isRevived;
  }

  /** Tells of every call to a webhook until the function that is returned is called. */
  watch(watcher: (attempt: PushAttempt) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  start(): void {
    this.dispatcher.start();
  }

  async stop(): Promise<void> {
    await this.dispatcher.stop();
  }
}

/**
 * Callers from elsewhere must not make us call this machine; those on it could call it themselves.
 * Deliveries know no caller, and the URL remembers: one that says loopback was registered from this
 * machine, and one that does not may have come through a proxy, so its name must not lead there.
 */
function policyFor(reach: Reach): UrlPolicy {
  return {
    ...publicHttpsPolicy,
    loopbackAsWritten: true,
    get allowLoopback() {
      return reach.isLocalOnly;
    },
  };
}
