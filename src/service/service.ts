import type { Caller } from '../agents/index.ts';
import type { Authenticator, CallerLimits, SkillScopes } from '../auth/index.ts';
import { type BodyLimits, defaultBodyLimits } from '../net/index.ts';
import {
  type Dialect,
  type ErrorProfile,
  type FileBytes,
  type OptionNames,
  v03Rest,
  v03RestTwice,
} from '../protocol/index.ts';
import type { PublicKeySet } from '../push/index.ts';
import type { Engine } from '../tasks/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { AuditLog } from './audit.ts';
import type { Cards } from './cards.ts';
import type { Load } from './load.ts';

/** Limits of requests. */
export interface RequestLimits extends BodyLimits {
  /** Pause between keep-alive comments on a stream, in milliseconds. @default 15_000 */
  readonly keepAliveMs: number;
  /** Deepest nesting of a JSON body. @default 64 */
  readonly maxJsonDepth: number;
}

export const requestLimitNames: OptionNames<RequestLimits> = {
  maxBodyBytes: 'number',
  bodyTimeoutMs: 'number',
  maxUnfinishedBodyBytes: 'number',
  keepAliveMs: 'number',
  maxJsonDepth: 'number',
};

export const defaultLimits: RequestLimits = {
  ...defaultBodyLimits,
  keepAliveMs: 15_000,
  maxJsonDepth: 64,
};

/** One agent as served by every transport: JSON-RPC, REST, gRPC and the bus. */
export interface Service {
  readonly engine: Engine;
  readonly cards: Cards;
  readonly limits: RequestLimits;
  readonly logger: Logger;
  /** Logs refusals. */
  readonly audit: AuditLog;
  /** Accepts 1.0 requests without a version header. */
  readonly isLenient: boolean;
  /** The revision of the error table in responses. */
  readonly errorProfile: ErrorProfile;
  /** How often the bytes of files are encoded in 0.3 over HTTP+JSON and gRPC. */
  readonly legacyFileBytes: FileBytes | ((caller: Caller) => FileBytes);
  /** Authenticates callers; the card declares its security schemes. */
  readonly auth: Authenticator;
  readonly skillScopes: SkillScopes;
  readonly callerLimits: CallerLimits;
  /** Counts requests. */
  readonly load: Load;
  /** Whether cards are for authenticated callers only. */
  readonly protectsCard: boolean;
  /** Whether other machines can reach the agent. */
  readonly exposure: NetworkExposure;
  /** Keys by which receivers of webhooks verify them. */
  readonly jwks: (() => Promise<PublicKeySet>) | undefined;
}

/**
 * Whether other machines can reach the agents of a process. It is local-only if the server listens on
 * loopback, until any transport listens for other machines. It never becomes local-only again.
 */
export class NetworkExposure {
  #isLocalOnly: boolean;

  constructor(isLocalOnly: boolean) {
    this.#isLocalOnly = isLocalOnly;
  }

  get isLocalOnly(): boolean {
    return this.#isLocalOnly;
  }

  /** Called when a transport listens for other machines. */
  openToNetwork(): void {
    this.#isLocalOnly = false;
  }
}

/** The dialect of a caller in 0.3 over HTTP+JSON and gRPC. */
export function legacyDialect({ legacyFileBytes }: Service, caller: Caller): Dialect {
  const bytes = typeof legacyFileBytes === 'function' ? legacyFileBytes(caller) : legacyFileBytes;
  return bytes === 'twice' ? v03RestTwice : v03Rest;
}
