import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import type { KeyAccess } from '../config/index.ts';
import { type FileCheck, includeInChecks } from '../net/index.ts';
import { errorMessage, isJsonObject, LegateError, parseJson } from '../protocol/index.ts';
import { type ClientTls, type GuardedFetch, guardedFetch, type UrlPolicy } from '../push/index.ts';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import { until, waitAtMost } from '../time/index.ts';

export interface KeyFetching {
  /** Name of the keys in reload reports: `jwt keys`. */
  readonly what: string;
  readonly fetch: GuardedFetch;
  readonly clock: { now(): number };
  /** Milliseconds for which fetched keys are used without another fetch. */
  readonly cacheTime: number;
  /** Milliseconds between two fetches for unknown keys. */
  readonly cooldown: number;
  /** Milliseconds for which old keys stay in use while the issuer is unreachable. */
  readonly staleTime: number;
  /** Logs reloads of keys, and failures to reload them. */
  readonly logger: Logger;
}

const maxKeySetBytes = 1024 * 1024;
/** Milliseconds that a token waits for a fetch while older keys are usable. */
const slowAfterMs = 1_000;
/** The operator chooses the URL: https, or http on this machine. */
export const keyPolicy: UrlPolicy = { schemes: ['https'], allowLoopback: true, allowPrivate: true };

/** `keyPolicy`, plus http to the hosts that the operator allows by name. */
export function keyPolicyFor({ allowedNames = [] }: KeyAccess): UrlPolicy {
  return { ...keyPolicy, allowedNames, httpToAllowedNames: true };
}

/** How keys are fetched, with defaults. */
export function keyFetching({
  policy = keyPolicy,
  tls,
  ...given
}: Partial<KeyFetching> & {
  readonly policy?: UrlPolicy;
  readonly tls?: ClientTls;
}): KeyFetching {
  return {
    what: given.what ?? 'jwt keys',
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

/** Milliseconds after a failed fetch before the next one. */
const failurePause = 5_000;

/**
 * Keys from a JWKS URL. They are fetched with the first token, again when a token names an unknown key
 * (rotation), when `cacheTime` has passed, and by `checkFiles` (SIGHUP), so that a withdrawn key is
 * rejected at once. While the issuer is unreachable or doesn't return keys, the old keys stay in use for
 * `staleTime`, and the issuer is not asked with every request. A slow issuer delays tokens of known keys
 * once, by `slowAfterMs`.
 */
export function remoteKeys(
  url: string,
  fetching: KeyFetching,
  /** Finds the URL of the keys. */
  locate: (init: RequestInit) => Promise<string> = async () => url,
): JWTVerifyGetKey {
  const { what, clock, logger, staleTime } = fetching;
  const pausing = pauseAfterFailure(clock);
  let fetchedAt = -Infinity;
  let reported: unknown;
  let isSlow = false;
  // The same error is thrown until `failurePause` ends. It is logged once, not for every token.
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
    [customFetch]: (_, init) =>
      pausing(async () => {
        const response = await fetching.fetch(await locate(init), init);
        const keySet = keySetIn(await textOf(response, init));
        fetchedAt = clock.now();
        return Response.json(keySet);
      }),
  });
  /** The keys of the last successful fetch, unless they are older than `staleTime`. */
  const usable = (): JWTVerifyGetKey | undefined => {
    const known = remote.jwks();
    const isUsable = known !== undefined && clock.now() - fetchedAt <= staleTime;
    return isUsable ? createLocalJWKSet(known) : undefined;
  };
  const keys = {
    async find(...[header, token]: Parameters<JWTVerifyGetKey>) {
      try {
        return await remote(header, token);
      } catch (error) {
        if (isAboutToken(error)) throw error;
        const known = usable();
        report(known !== undefined, error);
        if (known === undefined) throw unavailable(url, error);
        return await known(header, token);
      } finally {
        isSlow = false;
      }
    },
    async check(): Promise<FileCheck> {
      const checked = { what, paths: [url] };
      const before = JSON.stringify(remote.jwks());
      try {
        await remote.reload();
      } catch (error) {
        report(usable() !== undefined, error);
        return { ...checked, outcome: 'failed', error: errorMessage(error) };
      }
      const isUnchanged = JSON.stringify(remote.jwks()) === before;
      return { ...checked, outcome: isUnchanged ? 'unchanged' : 'reloaded' };
    },
  };
  includeInChecks(keys);
  return async (header, token) => {
    const answer = keys.find(header, token);
    if (!remote.reloading || usable() === undefined) return answer;
    let isAnswered = false;
    // `find` reports failures. The caller gets one only if it waits for the fetch.
    const answered = answer.then(
      () => (isAnswered = true),
      () => (isAnswered = true),
    );
    if (!isSlow) await waitAtMost(slowAfterMs, answered);
    const known = usable();
    if (isAnswered || known === undefined) return answer;
    isSlow = true;
    try {
      return await known(header, token);
    } catch (error) {
      // The issuer may have just added the key, so the fetch in flight decides.
      if (error instanceof errors.JWKSNoMatchingKey) return answer;
      throw error;
    }
  };
}

/** Throws for an invalid key set, and for an empty one, which would reject every caller. */
function keySetIn(text: string): JSONWebKeySet {
  const value: unknown = parseJson(text);
  const keys = isJsonObject(value) && Array.isArray(value['keys']) ? value['keys'] : [];
  const usable = keys.flatMap((key: unknown) =>
    isJsonObject(key) && typeof key['kty'] === 'string' ? [{ ...key, kty: key['kty'] }] : [],
  );
  if (usable.length === 0) throw new Error('answered without keys');
  return { keys: usable };
}

/**
 * Keys of an OpenID Connect issuer, found through its discovery document. Each fetch reads the document
 * again, because the issuer can move its keys.
 */
export function discoverKeys(issuer: string, fetching: KeyFetching): JWTVerifyGetKey {
  const address = openIdConfigurationUrl(issuer);
  return remoteKeys(address, fetching, async (init) => {
    const document: unknown = parseJson(await textOf(await fetching.fetch(address, init), init));
    if (!isJsonObject(document)) throw new Error('is not a JSON object');
    // OpenID Connect Discovery 4.3. Otherwise one issuer could impersonate another.
    if (document['issuer'] !== issuer) throw new Error('names another issuer');
    if (typeof document['jwks_uri'] !== 'string') throw new Error('names no jwks_uri');
    return document['jwks_uri'];
  });
}

/** Also throws for a body that is late or too long. */
async function textOf(response: Response, { signal }: RequestInit): Promise<string> {
  if (response.status !== 200) throw new Error(`answered ${response.status}`);
  return until(response.text(), signal ?? undefined);
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

/** The keys were fetched, and none of them fits the token. */
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
