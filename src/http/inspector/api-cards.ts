import { verifyCard } from '../../auth/index.ts';
import { type JsonValue, LegateError } from '../../protocol/index.ts';
import type { PublicKeySet } from '../../push/index.ts';
import { type ApiCall, bodyOf, reply } from './api-call.ts';
import type { Inspection, Route } from './inspection.ts';
import type { CardCheckView } from './model.ts';

/** Looks at a card's signatures: with the keys that are given, or with our own. */
export const cardRoutes: readonly (readonly [string, Route])[] = [['POST cards/check', checkCard]];

async function checkCard(inspection: Inspection, call: ApiCall): Promise<void> {
  const { card = null, jwks } = await bodyOf(call);
  const given = keySet(jwks);
  const own = inspection.agents.flatMap(({ service }) => service.jwks?.() ?? []);
  const signatures = signaturesOf(card);
  const view: CardCheckView = await verifyCard(card, {
    trusted: (given === undefined ? own : [given]).map((keys) => ({ keys })),
    now: inspection.now(),
  }).then(
    ({ kid, form }) => ({ signatures, verified: { kid, form } }),
    (error: unknown) => {
      if (!(error instanceof LegateError)) throw error;
      return { signatures, problem: error.message };
    },
  );
  reply(call.response, view);
}

function signaturesOf(card: JsonValue): number {
  const signatures =
    typeof card === 'object' && card !== null && 'signatures' in card ? card.signatures : undefined;
  return Array.isArray(signatures) ? signatures.length : 0;
}

/** A key set, or a single key. */
function keySet(given: JsonValue | undefined): PublicKeySet | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  return ('keys' in given ? given : { keys: [given] }) as unknown as PublicKeySet;
}
