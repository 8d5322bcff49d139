import type { Authenticator, CallerLimits, SkillScopes } from '../auth/index.ts';
import { type BodyLimits, defaultBodyLimits } from '../net/index.ts';
import type { PublicKeySet } from '../push/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Engine } from '../tasks/index.ts';
import type { AuditLog } from './audit.ts';
import type { Cards } from './cards.ts';
import type { Load } from './load.ts';
import type { MetricsDoor } from './metrics-door.ts';
import type { Reach } from './reach.ts';

/** Bounds and habits of the HTTP doors. */
export interface HttpLimits extends BodyLimits {
  /** Pause between keep-alive comments on a stream, in milliseconds. @default 15_000 */
  readonly keepAliveMs: number;
  /** Deepest nesting of a JSON body. @default 64 */
  readonly maxJsonDepth: number;
}

export const defaultLimits: HttpLimits = {
  ...defaultBodyLimits,
  keepAliveMs: 15_000,
  maxJsonDepth: 64,
};

/** One agent behind the HTTP doors. */
export interface Service {
  readonly engine: Engine;
  readonly cards: Cards;
  readonly limits: HttpLimits;
  readonly logger: Logger;
  /** Where Prometheus reads the metrics of the process; undefined unless asked for. */
  readonly metricsDoor: MetricsDoor | undefined;
  /** Where refusals are told. */
  readonly audit: AuditLog;
  /** Takes PascalCase methods without a version header as 1.0 instead of refusing them. */
  readonly isLenient: boolean;
  /** Which table of HTTP statuses errors follow. */
  readonly errorProfile: '1.0.1' | '1.0.0';
  /** Tells ingress rules the context of an answer: `X-A2A-Context-Id` and a cookie. */
  readonly setsContextHints: boolean;
  /** Establishes who asks; declares how in the card. */
  readonly auth: Authenticator;
  readonly skillScopes: SkillScopes;
  readonly callerLimits: CallerLimits;
  /** Told of every request. */
  readonly load: Load;
  /** Whether cards are for authenticated callers only. */
  readonly protectsCard: boolean;
  /** Origins of web pages that may call; `*` for all. */
  readonly corsOrigins: readonly string[];
  /** Whether other machines can reach the agent. */
  readonly reach: Reach;
  /** Keys by which receivers of webhooks verify them. */
  readonly jwks: (() => PublicKeySet) | undefined;
}
