import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import type { Caller } from '../../agents/index.ts';
import type { PublicKeySource } from '../../auth/index.ts';
import { isJsonObject, LegateError } from '../../protocol/index.ts';
import type { PublicKeySet } from '../../push/index.ts';
import { checkBusName, isBusName } from '../transport/checks.ts';
import { claimsOf, type SignedMessage, tokenType } from './signer.ts';

const algorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'RS256', 'EdDSA', 'Ed25519'];

/**
 * A trusted sender.
 * @example
 * const gateway: TrustedIssuer = { issuer: 'gateway', keys: publicKeySet([key]), mayVouch: true };
 */
export interface TrustedIssuer {
  readonly issuer: string;
  /** The keys, or a source of keys that rotate. */
  readonly keys:
    | PublicKeySet
    | JSONWebKeySet
    | { current(): Promise<PublicKeySet | JSONWebKeySet> }
    | PublicKeySource;
  /** May send messages on behalf of its callers, as a gateway does. @default false */
  readonly mayVouch?: boolean;
  /**
   * The scopes that its messages may have; further scopes of a token are dropped.
   * @default the scopes in its tokens if it may vouch, otherwise none
   */
  readonly scopes?: readonly string[];
}

function sourceOf(keys: TrustedIssuer['keys']): PublicKeySource {
  const lookupOf = (set: PublicKeySet | JSONWebKeySet): JWTVerifyGetKey =>
    createLocalJWKSet({ keys: set.keys.map((key) => ({ ...key })) });
  if ('lookups' in keys) return keys;
  if ('current' in keys) return { lookups: async () => [lookupOf(await keys.current())] };
  const lookups = [lookupOf(keys)];
  return { lookups: async () => lookups };
}

/** The trusted senders. */
export interface MessageVerifierOptions {
  readonly trusted: readonly TrustedIssuer[];
  /** Seconds by which clocks may differ. @default 30 */
  readonly clockTolerance?: number;
  readonly clock?: { now(): number };
}

/**
 * Authenticates the sender of a message by its token.
 * @example
 * const trusted = [{ issuer: 'alice', keys: publicKeySet([alicesKey]) }];
 * const verifier = new MessageVerifier({ trusted });
 * await using host = await hostOnBus(agent, { bus, verifier, requireSigned: true });
 */
export class MessageVerifier {
  readonly #issuers: ReadonlyMap<
    string,
    Pick<TrustedIssuer, 'scopes'> & {
      readonly keys: PublicKeySource;
      readonly mayVouch: boolean;
    }
  >;
  readonly #options: MessageVerifierOptions;

  constructor(options: MessageVerifierOptions) {
    this.#options = options;
    this.#issuers = new Map(
      options.trusted.map(({ issuer, keys, mayVouch = false, scopes }) => [
        checkBusName(issuer, 'the issuer'),
        {
          keys: sourceOf(keys),
          mayVouch,
          ...(scopes !== undefined && { scopes }),
        },
      ]),
    );
  }

  /**
   * Whether there is a trusted issuer of this name, ignoring case: messages under that name then need
   * a token.
   */
  knows(name: string): boolean {
    const folded = name.toLowerCase();
    return this.#issuers.keys().some((issuer) => issuer.toLowerCase() === folded);
  }

  /**
   * The sender. The caller of a gateway is `{gateway}/{subject}`, so that the callers of two gateways
   * never share anything. With `requester`, refuses replies to requests of other senders. Rejects with
   * `UNAUTHENTICATED`.
   */
  async verify(
    token: string,
    message: SignedMessage,
    { requester }: { readonly requester?: string | undefined } = {},
  ): Promise<Caller> {
    const { clockTolerance = 30, clock = { now: Date.now } } = this.#options;
    const issuer = statedIssuer(token);
    const known = this.#issuers.get(issuer);
    if (known === undefined) throw refused(`the issuer "${issuer}" is not in bus.trusted`);
    const rules = {
      typ: tokenType,
      algorithms,
      audience: message.topic,
      clockTolerance,
      currentDate: new Date(clock.now()),
      requiredClaims: ['exp', 'sub', 'iss'],
    };
    try {
      const payload = await verifyByAny(token, await known.keys.lookups(), rules);
      if (payload.iss !== issuer) throw refused('the issuer is ambiguous');
      for (const [claim, value] of Object.entries(claimsOf(message))) {
        if (payload[claim] !== value) throw refused(`it was made for another message (${claim})`);
      }
      const { requester: answered } = payload;
      // Tokens of earlier versions have no requester.
      if (requester !== undefined && answered !== undefined && answered !== requester) {
        throw refused('it answers a request of another sender');
      }
      return this.#caller(issuer, payload);
    } catch (error) {
      if (error instanceof LegateError) throw error;
      const code = error instanceof errors.JOSEError ? error.code : 'unreadable';
      throw refused(code, error);
    }
  }

  #caller(issuer: string, claims: Readonly<Record<string, unknown>>): Caller {
    const { sub, tenant, name, scope } = claims;
    if (typeof sub !== 'string' || sub.length > 512) throw refused('the subject is not usable');
    const isOwn = sub === issuer;
    const known = this.#issuers.get(issuer);
    if (!isOwn && known?.mayVouch !== true) {
      throw refused(`${issuer} may not send messages on behalf of others: set may_vouch`);
    }
    const stated = typeof scope === 'string' ? scope.split(' ').filter(Boolean) : undefined;
    // An issuer that may not vouch gets the configured scopes: those in its token are ignored.
    const scopes =
      known?.mayVouch === true
        ? stated?.filter((one) => known.scopes?.includes(one) ?? true)
        : known?.scopes;
    return {
      tenant: typeof tenant === 'string' ? tenant : '',
      subject: isOwn ? issuer : `${issuer}/${sub}`,
      method: 'message-token',
      ...(typeof name === 'string' && { displayName: name }),
      ...(scopes !== undefined && { scopes }),
    };
  }
}

/** Returns the claims of a token signed by one of the keys; rejects with the last failure. */
async function verifyByAny(
  token: string,
  lookups: Awaited<ReturnType<PublicKeySource['lookups']>>,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  let failure: unknown = new errors.JWKSNoMatchingKey();
  for (const lookup of lookups) {
    try {
      const { payload } = await jwtVerify(token, lookup, rules);
      return payload;
    } catch (error) {
      failure = error;
      // Another key can't help a token that has expired or is for another receiver.
      if (!isAboutKey(error)) throw error;
    }
  }
  throw failure;
}

function isAboutKey(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof TypeError ||
    error instanceof LegateError
  );
}

/** The issuer that an unverified token states; '' if the token can't be decoded. */
export function statedIssuer(token: string): string {
  try {
    const [, payload = ''] = token.split('.', 2);
    const text = Buffer.from(payload, 'base64url').toString('utf8');
    const claims: unknown = JSON.parse(text);
    return isJsonObject(claims) && typeof claims['iss'] === 'string' ? claims['iss'] : '';
  } catch {
    return '';
  }
}

function refused(why: string, cause?: unknown): LegateError {
  return new LegateError('UNAUTHENTICATED', `the message has an invalid token (${why})`, {
    cause,
  });
}

/** The prefix of unauthenticated subjects; no authenticated subject has it. */
const unverified = 'unverified:';

/** An unauthenticated sender, with the name that it claims. */
export function selfAsserted(name: string | undefined): Caller {
  const shown = isBusName(name) ? name : 'unknown';
  return {
    tenant: '',
    subject: `${unverified}${shown}`,
    method: 'self-asserted',
    displayName: shown,
  };
}
