import { createLocalJWKSet, FlattenedSign, flattenedVerify, type JSONWebKeySet } from 'jose';
import { LegateError } from '../protocol/index.ts';
import { publicKeySet, type PublicKeySet, type SigningKey } from './signing-key.ts';

/** What is signed besides the body: for whom, when, and which delivery it is. */
export interface SignedFacts {
  /** The address of the webhook, so that one receiver cannot pass the call on to another. */
  readonly audience: string;
  /** The delivery's `Idempotency-Key`. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Signs the bodies of webhook calls, so that receivers can tell them from anybody else's.
 * @example
 * const answer = (signer: BodySigner) => Response.json(signer.jwks()); // at /.well-known/jwks.json
 */
export interface BodySigner {
  /** The value of `X-A2A-Signature`: a JWS whose payload is detached, being the body. */
  sign(body: string, facts: SignedFacts): Promise<string>;
  /** The keys that receivers verify with. */
  jwks(): PublicKeySet;
}

/**
 * Signs with the first key; the others are still published, so that keys can be changed without a
 * moment in which a receiver does not know the one in use.
 * @example bodySigner([readSigningKey(pem)])
 */
export function bodySigner(keys: readonly [SigningKey, ...SigningKey[]]): BodySigner {
  const [key] = keys;
  return {
    async sign(body, { audience, id, now }) {
      const jws = await new FlattenedSign(new TextEncoder().encode(body))
        .setProtectedHeader({
          alg: key.algorithm,
          kid: key.kid,
          typ: 'JOSE',
          aud: audience,
          iat: Math.floor(now / 1_000),
          jti: id,
        })
        .sign(key.privateKey);
      return `${jws.protected}..${jws.signature}`;
    },
    jwks: () => publicKeySet(keys),
  };
}

/**
 * By which keys, and for whom a body must be signed.
 * @example
 * const options: VerifyBodyOptions = {
 *   keys, audience: 'https://shop.example.com/hooks/a2a', now: Date.now(),
 *   maxAge: 300_000, // five minutes are enough: each attempt is signed anew
 * };
 */
export interface VerifyBodyOptions {
  /** The sender's keys, from its `/.well-known/jwks.json`, fetched from an address you trust. */
  readonly keys: PublicKeySet | JSONWebKeySet;
  /** The address under which you registered the webhook. */
  readonly audience: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Milliseconds: how old a signature may be, retries included. @default 86_400_000 */
  readonly maxAge?: number;
}

/**
 * For receivers: checks `X-A2A-Signature` against the body as it was received. Rejects with
 * `UNAUTHENTICATED`; resolves with the id of the delivery, by which repeats are told.
 * @example const { id } = await verifyBodySignature(request.headers['x-a2a-signature'], body, { keys, audience, now });
 */
export async function verifyBodySignature(
  signature: string,
  body: string | Uint8Array,
  options: VerifyBodyOptions,
): Promise<{ readonly id: string }> {
  const [header = '', empty, tag = ''] = signature.split('.');
  const payload = Buffer.from(body).toString('base64url');
  const keys = createLocalJWKSet(structuredClone(options.keys) as JSONWebKeySet);
  const result = await flattenedVerify({ protected: header, payload, signature: tag }, keys, {
    algorithms: ['ES256', 'ES384', 'ES512', 'PS256', 'RS256', 'EdDSA'],
  }).catch((error: unknown) => {
    throw refused(error);
  });
  const { aud, iat, jti } = result.protectedHeader ?? {};
  const age = options.now - (typeof iat === 'number' ? iat * 1_000 : -Infinity);
  const isFresh = age <= (options.maxAge ?? 86_400_000) && age > -60_000;
  if (empty !== '' || aud !== options.audience || !isFresh || typeof jti !== 'string') {
    throw refused(undefined);
  }
  return { id: jti };
}

function refused(cause: unknown): LegateError {
  return new LegateError('UNAUTHENTICATED', 'the signature of the webhook call is not valid', {
    cause,
  });
}
