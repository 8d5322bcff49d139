import {
  type FlattenedJWSInput,
  FlattenedSign,
  flattenedVerify,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTVerifyGetKey,
} from 'jose';
import { cardForm, type CardForm, cardForms } from './card-forms.ts';
import {
  type AgentCard,
  type AgentCardSignature,
  checkOptions,
  isJsonObject,
  type JsonObject,
  LegateError,
  type OptionNames,
} from '../protocol/index.ts';
import { localKeySet, type PublicKeySet, type SigningKey } from '../push/index.ts';

/**
 * The keys that sign a card.
 * @example
 * const options: SignCardOptions = {
 *   keys: [readSigningKey(newPem), readSigningKey(oldPem)], // while verifiers learn the new one
 * };
 */
export interface SignCardOptions {
  /** Each key makes a signature. */
  readonly keys: readonly SigningKey[];
}

const signNames: OptionNames<SignCardOptions> = { keys: 'list' };

/**
 * The forms that each key signs. If they differ for a card, each key makes a signature of both, so that
 * verifiers of either reading find a valid one.
 */
const signedForms: readonly CardForm[] = ['specification', 'sdk'];

/**
 * The card with signatures of our own (specification 8.4). Removes existing signatures: the last
 * signer signs the whole card. Sign each version of a card once.
 * @example const signed = await signCard(card, { keys: [readSigningKey(pem)] })
 */
export async function signCard(card: AgentCard, options: SignCardOptions): Promise<AgentCard> {
  checkOptions('signCard', options, signNames, ['keys']);
  const { keys } = options;
  const { signatures: _former, ...unsigned } = card;
  const wire: JsonObject = JSON.parse(JSON.stringify(unsigned));
  const payloads = new Set(signedForms.map((form) => canonicalJson(cardForm(wire, form))));
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
 * Keys that verify cards, and until when. Remove them to revoke them.
 * @example const partner: TrustedKeys = { keys: publicKeySet([key]), notAfter: Date.UTC(2027, 0, 1) };
 */
export interface TrustedKeys {
  readonly keys: PublicKeySet | JSONWebKeySet;
  /** Milliseconds since 1970. */
  readonly notAfter?: number;
}

/**
 * The keys whose signatures are trusted.
 * @example
 * const options: VerifyCardOptions = {
 *   trusted: [{ keys: JSON.parse(await readFile('partners.jwks.json', 'utf8')) }],
 * };
 */
export interface VerifyCardOptions {
  /**
   * The roots of trust. A card's own `jku` is never followed: an attacker who forges a card writes that
   * too.
   */
  readonly trusted: readonly TrustedKeys[];
  /** Milliseconds since 1970. @default now */
  readonly now?: number;
}

const verifyNames: OptionNames<VerifyCardOptions> = { trusted: 'list', now: 'number' };

/** Maximum number of signatures of a card that are verified; further ones are ignored. */
const maxSignatures = 20;
const algorithms = ['ES256', 'ES384', 'ES512', 'PS256', 'RS256', 'EdDSA', 'Ed25519'];

/**
 * A card with a valid signature, and the key that made it.
 * @example const toCard = ({ card }: VerifiedCard): AgentCard => v1.agentCard.decode(card);
 */
export interface VerifiedCard {
  readonly kid: string;
  readonly form: CardForm;
  /** The signed part. Decode this and not the received card, which can contain unsigned fields. */
  readonly card: JsonObject;
}

/**
 * Verifies the raw JSON of a card, as received. One signature by a trusted key is enough. Rejects with
 * `PEER_INVALID`.
 * @example const { card } = await verifyCard(received, { trusted: [{ keys }] });
 */
export async function verifyCard(card: unknown, options: VerifyCardOptions): Promise<VerifiedCard> {
  checkOptions('verifyCard', options, verifyNames, ['trusted']);
  const { now = Date.now() } = options;
  const lookups = options.trusted
    .filter(({ notAfter }) => notAfter === undefined || notAfter > now)
    .flatMap(({ keys }) => keySetLookups(keys));
  return verifyCardBy(card, lookups);
}

/** Finds the key of a signature. */
export type CardKeys = (
  header: JWTHeaderParameters,
  signature: FlattenedJWSInput,
) => ReturnType<JWTVerifyGetKey>;

/** A key without a `kid`, as in a PEM file, is tried for every signature. */
export function keySetLookups(set: PublicKeySet | JSONWebKeySet): readonly CardKeys[] {
  const keys: JSONWebKeySet['keys'] = JSON.parse(JSON.stringify(set.keys));
  const [named, unnamed] = [keys.filter(({ kid }) => kid), keys.filter(({ kid }) => !kid)];
  const byName = localKeySet({ keys: named });
  return [(header, signature) => byName(header, signature), ...unnamed.map(unnamedKeyLookup)];
}

/** Finds the key for every signature, whatever key the signature names. */
export function unnamedKeyLookup(key: JSONWebKeySet['keys'][number]): CardKeys {
  const only = localKeySet({ keys: [key] });
  return ({ kid: _name, ...header }, signature) => only(header, signature);
}

/** Like `verifyCard`, with keys of any source. */
export async function verifyCardBy(
  card: unknown,
  lookups: readonly CardKeys[],
): Promise<VerifiedCard> {
  if (!isJsonObject(card)) throw refused('the card is not an object');
  const signatures: unknown = card['signatures'];
  if (!Array.isArray(signatures) || signatures.length === 0)
    throw refused('the card is not signed');
  const payloads = cardForms.map((form) => ({ form, payload: payloadOf(card, form) }));
  for (const signature of signatures.slice(0, maxSignatures) as unknown[]) {
    if (!isSignature(signature)) continue;
    for (const { form, payload } of payloads) {
      for (const lookup of lookups) {
        const kid = await verifyOne(signature, payload, lookup);
        if (kid !== undefined) return { kid, form, card: cardForm(card, form) };
      }
    }
  }
  throw refused('no signature of the card is by a trusted key');
}

async function verifyOne(
  { protected: header, signature }: AgentCardSignature,
  payload: string,
  lookup: CardKeys,
): Promise<string | undefined> {
  try {
    const { protectedHeader } = await flattenedVerify(
      { protected: header, payload, signature },
      (found, jws) => lookup({ ...found, alg: found?.alg ?? '' }, jws),
      { algorithms },
    );
    // Specification 8.4.2 requires `alg` and `kid`.
    return typeof protectedHeader?.kid === 'string' ? protectedHeader.kid : undefined;
  } catch (error) {
    // The keys can't be fetched now.
    if (error instanceof LegateError) throw error;
    // Signed by another key, or over another form: the caller tries the next.
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

/** Deeper nesting is rejected. */
const maxDepth = 100;

/**
 * A JSON value in canonical form (RFC 8785): members in the order of their names' UTF-16 code units, no
 * spaces, numbers and strings as ECMAScript writes them. Undefined members count as absent. Throws for
 * values that JSON can't express: NaN, infinities, lone surrogates.
 * @example canonicalJson({ b: 1, a: [1e21, 'ü'] }) // '{"a":[1e+21,"ü"],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > maxDepth) throw invalid(`is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'number':
      if (!Number.isFinite(value)) throw invalid(`contains ${value}`);
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth);
    default:
      throw invalid(`contains a ${typeof value}`);
  }
}

function writeString(value: string): string {
  if (!value.isWellFormed()) throw invalid('contains a lone surrogate');
  return JSON.stringify(value);
}

function writeArray(values: readonly unknown[], depth: number): string {
  return `[${values.map((value) => write(value, depth + 1)).join(',')}]`;
}

function writeObject(value: object, depth: number): string {
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // Without a comparator, sort compares UTF-16 code units, as the RFC requires.
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${writeString(name)}:${write(member, depth + 1)}`);
  return `{${members.join(',')}}`;
}

function invalid(what: string): LegateError {
  return new LegateError(
    'INVALID_PARAMS',
    `the value ${what}, which canonical JSON cannot express`,
  );
}
