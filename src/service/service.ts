import type { Authenticator, CallerLimits, SkillScopes } from '../auth/index.ts';
import { type BodyLimits, defaultBodyLimits } from '../net/index.ts';
import type { ErrorProfile } from '../protocol/index.ts';
import type { PublicKeySet } from '../push/index.ts';
import type { Engine } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { AuditLog } from './audit.ts';
import type { Cards } from './cards.ts';
import type { Load } from './load.ts';

/** Bounds of requests. */
export interface RequestLimits extends BodyLimits {
  /** Pause between keep-alive comments on a stream, in milliseconds. @default 15_000 */
  readonly keepAliveMs: number;
  /** Deepest nesting of a JSON body. @default 64 */
  readonly maxJsonDepth: number;
}

export const defaultLimits: RequestLimits = {
  ...defaultBodyLimits,
  keepAliveMs: 15_000,
  maxJsonDepth: 64,
};

/** One agent as transports serve it: JSON-RPC, REST, gRPC and the bus. */
export interface Service {
  readonly engine: Engine;
  readonly cards: Cards;
  readonly limits: RequestLimits;
  readonly logger: Logger;
  /** Where refusals are told. */
  readonly audit: AuditLog;
  /** Takes requests of 1.0 that do not state their version. */
  readonly isLenient: boolean;
  /** Which revision of the table of errors is answered with. */
  readonly errorProfile: ErrorProfile;
  /** Establishes who asks; declares how in the card. */
  readonly auth: Authenticator;
  readonly skillScopes: SkillScopes;
  readonly callerLimits: CallerLimits;
  /** Told of every request. */
  readonly load: Load;
  /** Whether cards are for authenticated callers only. */
  readonly protectsCard: boolean;
  /** Whether other machines can reach the agent. */
  readonly reach: Reach;
  /** Keys by which receivers of webhooks verify them. */
  readonly jwks: (() => PublicKeySet) | undefined;
}

/**
 * Whether other machines can reach the agents of a process. Local at first, where the server listens
 * for this machine only; open for good once any transport listens for others.
 */
export class Reach {
  #isLocalOnly: boolean;

  constructor(isLocalOnly: boolean) {
    this.#isLocalOnly = isLocalOnly;
  }

  get isLocalOnly(): boolean {
    return this.#isLocalOnly;
  }

  /** A further transport listens for other machines. */
  widen(): void {
    this.#isLocalOnly = false;
  }
}
