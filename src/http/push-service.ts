import type { TaskPushNotificationConfig } from '../protocol/index.ts';
import {
  type BodySigner,
  httpsOrLoopbackPolicy,
  PushDispatcher,
  type PushDispatcherOptions,
  type PublicKeySet,
  type UrlPolicy,
} from '../push/index.ts';
import type { Store } from '../store/index.ts';
import { type PushHooks, readTaskAt, type Scheduler } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';

export type PushOptions = Partial<
  Omit<PushDispatcherOptions, 'store' | 'replica' | 'scheduler' | 'logger' | 'taskAt' | 'policy'>
> & {
  /** Where webhooks may be. @default https anywhere public, http on loopback */
  readonly policy?: UrlPolicy;
};

/** Webhooks of one process: what the engine needs of them, and their delivery. */
export class PushService implements PushHooks {
  readonly dispatcher: PushDispatcher;
  readonly jwks: (() => PublicKeySet) | undefined;

  constructor(
    options: PushOptions & {
      readonly store: Store;
      readonly replica: string;
      readonly scheduler: Scheduler;
      readonly logger: Logger;
    },
  ) {
    const signer: BodySigner | undefined = options.signer;
    this.jwks = signer === undefined ? undefined : () => signer.jwks();
    this.dispatcher = new PushDispatcher({
      ...options,
      policy: options.policy ?? httpsOrLoopbackPolicy,
      taskAt: (taskId, sequence) => readTaskAt(options.store, taskId, sequence),
    });
  }

  validate(config: TaskPushNotificationConfig): Promise<void> {
    return this.dispatcher.validate(config);
  }

  redact(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
    return this.dispatcher.redact(config);
  }

  wake(): void {
    this.dispatcher.wake();
  }

  start(): void {
    this.dispatcher.start();
  }

  async stop(): Promise<void> {
    await this.dispatcher.stop();
  }
}
