import type { TaskPushNotificationConfig } from '../protocol/index.ts';

/** A push configuration as stored: with its id, and the wire version it was registered under. */
export interface PushRegistration {
  readonly config: TaskPushNotificationConfig & { readonly id: string };
  readonly wireVersion: '0.3' | '1.0';
}

export interface Delivery {
  readonly id: number;
  readonly taskId: string;
  readonly sequence: number;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly push: PushRegistration;
  /** Why the stored configuration can't be decoded; `push` then has its id and an empty URL. */
  readonly unreadable?: string;
}

export type DeliveryState = 'pending' | 'dead';

export interface DeliveryRecord extends Delivery {
  readonly state: DeliveryState;
  readonly nextAttemptAt: number;
  readonly lastError?: string;
}

export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly afterMs: number; readonly error: string }
  | { readonly kind: 'dead'; readonly error: string };

/** The webhooks of tasks, and what is owed to them. Rules and words: contract.ts. */
export interface PushStore {
  /** Replaces a configuration of the same id in its place. Rejects with `TASK_NOT_FOUND`. */
  put(taskId: string, registration: PushRegistration): Promise<void>;
  get(taskId: string, configId: string): Promise<PushRegistration | undefined>;
  /** In the order of registration. */
  list(taskId: string): Promise<readonly PushRegistration[]>;
  /** Its deliveries vanish with it. False: there was none. */
  delete(taskId: string, configId: string): Promise<boolean>;
  /**
   * Of each configuration the oldest pending delivery only, when it is due and not claimed; those
   * that are due for longest come first. A claim ends with its lease, or with its replica.
   */
  claim(query: {
    readonly replica: string;
    readonly leaseMs: number;
    readonly limit: number;
  }): Promise<readonly Delivery[]>;
  /**
   * A delivered one vanishes; `retry` and `dead` count one attempt of a pending one. A dead delivery
   * no longer holds up the ones behind it. One that is gone already is left alone.
   */
  settle(deliveryId: number, outcome: DeliveryOutcome): Promise<void>;
  /**
   * Milliseconds until the next delivery can be claimed, 0 for one that is due; a claimed one falls
   * due again when its lease ends.
   */
  nextDueMs(): Promise<number | undefined>;
  /** In the order of their ids, from the one after `after`. */
  deliveries(query: {
    readonly state?: DeliveryState;
    readonly taskId?: string;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly DeliveryRecord[]>;
  /** Makes a dead delivery pending again, due at once, with no attempts made. False: there is none. */
  revive(deliveryId: number): Promise<boolean>;
}
