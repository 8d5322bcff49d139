import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import { errorMessage, isJsonObject, LegateError } from '../protocol/index.ts';
import { type ClientTls, type GuardedFetch, guardedFetch, type UrlPolicy } from '../push/index.ts';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import { Deadline } from '../time/index.ts';

export interface KeyFetching {
  readonly fetch: GuardedFetch;
  readonly clock: { now(): number };
  /** Milliseconds that fetched keys are used without asking again. */
  readonly cacheTime: number;
  /** Milliseconds between two fetches for a key that was not among the known ones. */
  readonly cooldown: number;
  /** Milliseconds that old keys are used on when the issuer cannot be reached. */
  readonly staleTime: number;
  /** Logs reloads of keys, and failures to reload them. */
  readonly logger: Logger;
}

const maxKeySetBytes = 1024 * 1024;
/** Keys of the operator's choice: https, or this machine. */
export const keyPolicy: UrlPolicy = { schemes: ['https'], allowLoopback: true, allowPrivate: true };

/** How keys are fetched unless it is said otherwise. */
export function keyFetching({
  policy = keyPolicy,
  tls,
  ...given
}: Partial<KeyFetching> & {
  readonly policy?: UrlPolicy;
  readonly tls?: ClientTls;
}): KeyFetching {
  return {
    fetch:
      given.fetch ??
      guardedFetch(policy, { maxResponseBytes: maxKeySetBytes, ...(tls && { tls }) }),
    clock: given.clock ?? { now: Date.now },
    cacheTime: given.cacheTime ?? 600_000,
    cooldown: given.cooldown ?? 30_000,
    staleTime: given.staleTime ?? 3_600_000,
    logger: given.logger ?? defaultLogger,
  };
}

/** Milliseconds after a failure in which the issuer is not asked again. */
const failurePause = 5_000;

/**
 * Keys from a JWKS address: fetched once, again when a token names a key that is not among them
 * (rotation), and now and then. When the issuer cannot be reached, the old keys are used on for a
 * while, and it is not asked again with every request.
 */
export function remoteKeys(url: string, fetching: KeyFetching): JWTVerifyGetKey {
  const { clock, logger } = fetching;
  const pausing = pauseAfterFailure(clock);
  let fetchedAt = -Infinity;
  let reported: unknown;
  // Failures are remembered for a pause: each is one line, however many tokens meet it.
  const report = (usesOldKeys: boolean, error: unknown): void => {
    if (reported === error) return;
    reported = error;
    const reason = errorMessage(error);
    logger.warn({ url: new URL(url).origin, usesOldKeys, reason }, 'auth.keys_unreachable');
  };
  const remote: RemoteJWKSet = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: fetching.cacheTime,
    cooldownDuration: fetching.cooldown,
    timeoutDuration: 10_000,
    [customFetch]: (address, init) =>
      pausing(async () => {
        const response = await fetching.fetch(address, init);
        if (response.status !== 200) throw new Error(`answered ${response.status}`);
        fetchedAt = clock.now();
        return response;
      }),
  });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (isAboutToken(error)) throw error;
      const known = remote.jwks();
      const isUsable = known !== undefined && clock.now() - fetchedAt <= fetching.staleTime;
      report(isUsable, error);
      if (!isUsable) throw unavailable(url, error);
      return createLocalJWKSet(known)(header, token);
    }
  };
}

/** Keys of an OpenID Connect issuer, whose discovery document names their address. */
export function discoverKeys(issuer: string, fetching: KeyFetching): JWTVerifyGetKey {
  const pausing = pauseAfterFailure(fetching.clock);
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const discover = async (): Promise<JWTVerifyGetKey> => {
    using deadline = new Deadline({
      milliseconds: 10_000,
      reason: () => new Error('did not answer within 10 s'),
    });
    const response = await fetching.fetch(openIdConfigurationUrl(issuer), {
      headers: { accept: 'application/json' },
      signal: deadline.signal,
    });
    if (response.status !== 200) throw new Error(`answered ${response.status}`);
    const document: unknown = await response.json();
    if (!isJsonObject(document)) throw new Error('is not a JSON object');
    // OpenID Connect Discovery 4.3: otherwise one issuer could speak for another.
    if (document.issuer !== issuer) throw new Error('names another issuer');
    if (typeof document.jwks_uri !== 'string') throw new Error('names no jwks_uri');
    return remoteKeys(document.jwks_uri, fetching);
  };
  return async (header, token) => {
    keys ??= pausing(discover).catch((error: unknown) => {
      keys = undefined;
      const reason = errorMessage(error);
      fetching.logger.warn({ url: issuer, usesOldKeys: false, reason }, 'auth.keys_unreachable');
      throw unavailable(openIdConfigurationUrl(issuer), error);
    });
    return (await keys)(header, token);
  };
}

export function openIdConfigurationUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function pauseAfterFailure(clock: { now(): number }): <T>(work: () => Promise<T>) => Promise<T> {
  let failure: { readonly at: number; readonly error: unknown } | undefined;
  return async (work) => {
    if (failure !== undefined && clock.now() - failure.at < failurePause) throw failure.error;
    failure = undefined;
    try {
      return await work();
    } catch (error) {
      failure = { at: clock.now(), error };
      throw error;
    }
  };
}

/** The keys are known, and none fits the token. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

function unavailable(url: string, cause: unknown): LegateError {
  const reason = errorMessage(cause);
  return new LegateError(
    'UNAVAILABLE',
    `signatures cannot be verified now: no keys from ${new URL(url).origin} (${reason})`,
    { cause, retryAfter: failurePause / 1_000 },
  );
}
