import { createPublicKey } from 'node:crypto';
import {
  type AgentCard as SdkCard,
  generateAgentCardSignature,
  verifyAgentCardSignature,
} from '@a2a-js/sdk';
import { decodeProtectedHeader, FlattenedSign } from 'jose';
import { expect, test } from 'vitest';
import type { AgentCard, JsonObject } from '../protocol/index.ts';
import { generateSigningKey, publicKeySet, type SigningKey } from '../push/index.ts';
import { canonicalJson, signCard, verifyCard } from './card-signature.ts';
import { cardForm } from './card-forms.ts';

const card: AgentCard = {
  name: 'Agent',
  description: 'Does things',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://example.com/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'] }],
};
/** With values that the forms treat differently. */
const cardWithEmpty: AgentCard = {
  ...card,
  description: '',
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  skills: [{ id: 's', name: 'S', description: '', tags: [], examples: [] }],
};

const trusted = (...keys: SigningKey[]) => [{ keys: publicKeySet(keys) }];

test('CARD-SIGN: the protected header has alg, kid and typ; ES256 by default; no payload travels', async () => {
  const key = generateSigningKey({ kid: 'k1' });
  const signed = await signCard(card, { keys: [key] });
  expect(signed.signatures).toHaveLength(1);
  const [signature] = signed.signatures ?? [];
  expect(decodeProtectedHeader({ protected: signature?.protected ?? '' })).toEqual({
    alg: 'ES256',
    kid: 'k1',
    typ: 'JOSE',
  });
  expect(Object.keys(signature ?? {})).toEqual(['protected', 'signature']);
});

test('a signed card verifies against the trusted key, also after a trip over the wire', async () => {
  const key = generateSigningKey({ kid: 'k1' });
  const signed = await signCard(card, { keys: [key] });
  const received: unknown = JSON.parse(JSON.stringify(signed));
  expect(await verifyCard(received, { trusted: trusted(key) })).toEqual({
    kid: 'k1',
    form: 'specification',
    card,
  });
});

test.each<[string, (signed: JsonObject) => unknown]>([
  ['a changed field', (signed) => ({ ...signed, description: 'Does other things' })],
  ['a changed address', (signed) => ({ ...signed, supportedInterfaces: [] })],
  ['no signatures', ({ signatures: _dropped, ...rest }) => rest],
  ['an empty list of signatures', (signed) => ({ ...signed, signatures: [] })],
  ['signatures that are none', (signed) => ({ ...signed, signatures: [null, 1, {}, 'x'] })],
  ['no object', () => 'card'],
  ['null', () => null],
])('%s is refused', async (_what, change) => {
  const key = generateSigningKey();
  const signed = (await signCard(card, { keys: [key] })) as unknown as JsonObject;
  await expect(verifyCard(change(signed), { trusted: trusted(key) })).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
});

test('a signature by a key that is not trusted is refused, whatever its jku says', async () => {
  const ours = generateSigningKey({ kid: 'k' });
  const theirs = generateSigningKey({ kid: 'k' });
  const payload = new TextEncoder().encode(canonicalJson(card));
  const jws = await new FlattenedSign(payload)
    .setProtectedHeader({
      alg: 'ES256',
      kid: 'k',
      typ: 'JOSE',
      jku: 'https://forger.example.com/jwks.json',
    })
    .sign(theirs.privateKey);
  const forged = {
    ...card,
    signatures: [{ protected: jws.protected, signature: jws.signature }],
  };
  await expect(verifyCard(forged, { trusted: trusted(ours) })).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
});

test('an expired root is not used', async () => {
  const key = generateSigningKey();
  const signed = await signCard(card, { keys: [key] });
  const trustedUntil = [{ keys: publicKeySet([key]), notAfter: 1_000 }];
  await expect(verifyCard(signed, { trusted: trustedUntil, now: 999 })).resolves.toBeDefined();
  await expect(verifyCard(signed, { trusted: trustedUntil, now: 1_000 })).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
});

test('several keys make several signatures; one that is trusted is enough', async () => {
  const [former, current] = [generateSigningKey({ kid: 'a' }), generateSigningKey({ kid: 'b' })];
  const signed = await signCard(card, { keys: [former, current] });
  expect(signed.signatures).toHaveLength(2);
  expect(await verifyCard(signed, { trusted: trusted(current) })).toMatchObject({ kid: 'b' });
});

test('a secret shared by mistake cannot stand in for a public key', async () => {
  const key = generateSigningKey({ kid: 'k' });
  const secret = Buffer.from(JSON.stringify(publicKeySet([key])));
  const jws = await new FlattenedSign(new TextEncoder().encode(canonicalJson(card)))
    .setProtectedHeader({ alg: 'HS256', kid: 'k', typ: 'JOSE' })
    .sign(secret);
  const forged = { ...card, signatures: [{ protected: jws.protected, signature: jws.signature }] };
  await expect(verifyCard(forged, { trusted: trusted(key) })).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
});

test('8.4.1: required and set optional fields stay with their defaults, other defaults go', () => {
  const full = {
    ...cardWithEmpty,
    documentationUrl: '',
    capabilities: {
      streaming: false,
      extensions: [{ uri: 'urn:x', description: '', required: false, params: {} }],
    },
    provider: { url: '', organization: 'Us' },
    supportedInterfaces: [
      { url: 'https://x', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
    ],
    signatures: [{ protected: 'x', signature: 'y' }],
    unknownField: 'x',
  };
  expect(cardForm(full as unknown as JsonObject, 'specification')).toEqual({
    name: 'Agent',
    description: '',
    version: '1.0.0',
    documentationUrl: '',
    supportedInterfaces: [{ url: 'https://x', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: false, extensions: [{ uri: 'urn:x', params: {} }] },
    provider: { url: '', organization: 'Us' },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: {} } }],
    skills: [{ id: 's', name: 'S', description: '', tags: [] }],
  });
});

test('what a signature does not cover is not part of the verified card', async () => {
  const key = generateSigningKey();
  const signed = await signCard(card, { keys: [key] });
  const padded = { ...signed, url: 'https://forger.example.com/', preferredTransport: 'JSONRPC' };
  const verified = await verifyCard(padded, { trusted: trusted(key) });
  expect(verified.card).toEqual(card);
});

test('a card signed over its raw form verifies too', async () => {
  const key = generateSigningKey({ kid: 'k' });
  const raw = { ...cardWithEmpty, extra: [] };
  const jws = await new FlattenedSign(new TextEncoder().encode(canonicalJson(raw)))
    .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'JOSE' })
    .sign(key.privateKey);
  const signed = { ...raw, signatures: [{ protected: jws.protected, signature: jws.signature }] };
  expect(await verifyCard(signed, { trusted: trusted(key) })).toMatchObject({ form: 'raw' });
});

/**
 * The SDK reads the card as JSON again before it signs or verifies; a card that it has already
 * made its own would lose its security schemes there.
 */
function asWire(given: AgentCard): SdkCard {
  return structuredClone(given) as unknown as SdkCard;
}

test.each([
  ['plain', card],
  ['with empty values', cardWithEmpty],
])('the official SDK verifies our signature of a card %s', async (_what, given) => {
  const key = generateSigningKey({ kid: 'k' });
  const signed = await signCard(given, { keys: [key] });
  const verify = verifyAgentCardSignature(async () => createPublicKey(key.privateKey));
  await expect(verify(asWire(signed))).resolves.toBeUndefined();
});

test.each([
  ['plain', card],
  ['with empty values', cardWithEmpty],
])("we verify the official SDK's signature of a card %s", async (_what, given) => {
  const key = generateSigningKey({ kid: 'k' });
  const sign = generateAgentCardSignature(key.privateKey, { alg: 'ES256', kid: 'k', typ: 'JOSE' });
  const signed: unknown = await sign(asWire(given));
  expect(await verifyCard(signed, { trusted: trusted(key) })).toMatchObject({ kid: 'k' });
});
