import { createLocalJWKSet, FlattenedSign, flattenedVerify, type JSONWebKeySet } from 'jose';
import {
  type AgentCard,
  type AgentCardSignature,
  isJsonObject,
  type JsonObject,
  LegateError,
} from '../protocol/index.ts';
import type { PublicKeySet, SigningKey } from '../push/index.ts';
import { canonicalJson } from './canonical-json.ts';
import { cardForm, type CardForm, cardForms } from './card-forms.ts';

/**
 * With which keys a card is signed.
 * @example
 * const options: SignCardOptions = {
 *   keys: [readSigningKey(newPem), readSigningKey(oldPem)], // while verifiers learn the new one
 * };
 */
export interface SignCardOptions {
  /** One signature is made with each. */
  readonly keys: readonly SigningKey[];
  /**
   * Where the readings of the specification differ for this card, a further signature is made for
   * each of these forms, so that verifiers of either reading find one that holds.
   * @default ['specification', 'sdk']
   */
  readonly forms?: readonly CardForm[];
}

/**
 * The card with signatures of our own (specification 8.4). Former signatures are dropped: they are
 * for the last signer to make. Sign once for each version of a card and serve that.
 * @example const signed = await signCard(card, { keys: [readSigningKey(pem)] })
 */
export async function signCard(card: AgentCard, options: SignCardOptions): Promise<AgentCard> {
  const { keys, forms = ['specification', 'sdk'] } = options;
  const { signatures: _former, ...unsigned } = card;
  const wire = unsigned as unknown as JsonObject;
  const payloads = new Set(forms.map((form) => canonicalJson(cardForm(wire, form))));
  const signatures: AgentCardSignature[] = [];
  for (const key of keys) {
    for (const payload of payloads) {
      const jws = await new FlattenedSign(new TextEncoder().encode(payload))
        .setProtectedHeader({ alg: key.algorithm, kid: key.kid, typ: 'JOSE' })
        .sign(key.privateKey);
      signatures.push({ protected: jws.protected ?? '', signature: jws.signature });
    }
  }
  return { ...unsigned, signatures };
}

/**
 * A key that cards are verified with, and until when. Take it out to revoke it.
 * @example const partner: TrustedKeys = { keys: publicKeySet([key]), notAfter: Date.UTC(2027, 0, 1) };
 */
export interface TrustedKeys {
  readonly keys: PublicKeySet | JSONWebKeySet;
  /** Milliseconds since 1970. */
  readonly notAfter?: number;
}

/**
 * Whose signatures are believed.
 * @example
 * const options: VerifyCardOptions = {
 *   trusted: [{ keys: JSON.parse(await readFile('partners.jwks.json', 'utf8')) }],
 * };
 */
export interface VerifyCardOptions {
  /**
   * The roots of trust. A card's own `jku` is never followed: the forger of a card wrote that
   * too.
   */
  readonly trusted: readonly TrustedKeys[];
  /** Milliseconds since 1970. @default now */
  readonly now?: number;
}

/** Signatures of one card that are looked at. */
const maxSignatures = 20;
const algorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'RS256', 'EdDSA', 'Ed25519'];

/**
 * A card whose signature holds, and by whose key.
 * @example const toCard = ({ card }: VerifiedCard): AgentCard => v1.agentCard.decode(card);
 */
export interface VerifiedCard {
  readonly kid: string;
  readonly form: CardForm;
  /** What the signature covers: decode this and not the card, which may hold more. */
  readonly card: JsonObject;
}

/**
 * Verifies a card as it was received, before anything was made of it. One signature by a trusted key
 * is enough. Rejects with `PEER_INVALID`.
 * @example const { card } = await verifyCard(received, { trusted: [{ keys }] });
 */
export async function verifyCard(card: unknown, options: VerifyCardOptions): Promise<VerifiedCard> {
  const { now = Date.now() } = options;
  if (!isJsonObject(card)) throw refused('the card is not an object');
  const signatures: unknown = card['signatures'];
  if (!Array.isArray(signatures) || signatures.length === 0)
    throw refused('the card is not signed');
  const roots = options.trusted
    .filter(({ notAfter }) => notAfter === undefined || notAfter > now)
    .map(({ keys }) => createLocalJWKSet(structuredClone(keys) as JSONWebKeySet));
  const payloads = cardForms.map((form) => ({ form, payload: payloadOf(card, form) }));
  for (const signature of signatures.slice(0, maxSignatures) as unknown[]) {
    if (!isSignature(signature)) continue;
    for (const { form, payload } of payloads) {
      for (const root of roots) {
        const kid = await verifyOne(signature, payload, root);
        if (kid !== undefined) return { kid, form, card: cardForm(card, form) };
      }
    }
  }
  throw refused('no signature of the card is by a trusted key');
}

async function verifyOne(
  { protected: header, signature }: AgentCardSignature,
  payload: string,
  root: ReturnType<typeof createLocalJWKSet>,
): Promise<string | undefined> {
  try {
    const { protectedHeader } = await flattenedVerify(
      { protected: header, payload, signature },
      root,
      { algorithms },
    );
    // Both are required by 8.4.2.
    return typeof protectedHeader?.kid === 'string' ? protectedHeader.kid : undefined;
  } catch {
    // Not by this key, or not over this form: the next may hold.
    return undefined;
  }
}

function payloadOf(card: JsonObject, form: CardForm): string {
  try {
    return Buffer.from(canonicalJson(cardForm(card, form))).toString('base64url');
  } catch (cause) {
    throw refused('the card cannot be brought into canonical form', cause);
  }
}

function isSignature(value: unknown): value is AgentCardSignature {
  return (
    isJsonObject(value) &&
    typeof value.protected === 'string' &&
    typeof value.signature === 'string'
  );
}

function refused(what: string, cause?: unknown): LegateError {
  return new LegateError('PEER_INVALID', what, { cause });
}
