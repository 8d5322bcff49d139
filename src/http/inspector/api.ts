import { z } from 'zod';
import { verifyCard } from '../../auth/index.ts';
import { invalidParams, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { PublicKeySet } from '../../push/index.ts';
import { networkRoutes } from './api-network.ts';
import { proxyRoutes } from './api-proxy.ts';
import { pushRoutes } from './api-push.ts';
import { taskRoutes } from './api-tasks.ts';
import {
  type ApiCall,
  bodyOf,
  type Inspection,
  nothing,
  reply,
  type Routes,
} from './inspection.ts';
import { liveRoutes } from './live.ts';
import type { AboutView, CardCheckView, ConversationView } from './model.ts';
import type { InspectedAssistant } from './options.ts';

/** The whole API. */
export const routes: Routes = [
  ['GET', 'about', about],
  ...taskRoutes,
  ...pushRoutes,
  [
    'GET',
    'assistants/{agent}/flows',
    async (inspection, call) => reply(call.response, assistantOf(inspection, call).flows()),
  ],
  ['GET', 'assistants/{agent}/conversations/{id}', showConversation],
  ...networkRoutes,
  ['POST', 'cards/check', checkCard],
  ...liveRoutes,
  ...proxyRoutes,
];

async function about(inspection: Inspection, { response, operator }: ApiCall): Promise<void> {
  const { agent, service, assistant } = inspection;
  const view: AboutView = {
    version: inspection.version,
    agents: [{ name: agent, card: service.cards.current, isAssistant: assistant !== undefined }],
    store: inspection.store.driver,
    hasPush: inspection.push !== undefined,
    hasNetwork: inspection.network !== undefined,
    hasProxy: inspection.proxy !== undefined,
    receiverKey: inspection.receiver.key,
    operator: operator.subject,
  };
  reply(response, view);
}

function assistantOf({ agent, assistant }: Inspection, { params }: ApiCall): InspectedAssistant {
  const { agent: name = '' } = params;
  if (assistant === undefined || name !== agent) throw nothing(`assistant ${name} here`);
  return assistant;
}

async function showConversation(inspection: Inspection, call: ApiCall): Promise<void> {
  const { id = '' } = call.params;
  const subject = call.query.get('subject') ?? '';
  const tracker = await assistantOf(inspection, call).tracker(id, subject);
  const view: ConversationView = { id, tracker };
  reply(call.response, view);
}

/** Looks at a card's signatures: with the keys that are given, or with our own. */
async function checkCard(inspection: Inspection, call: ApiCall): Promise<void> {
  const { card = null, jwks } = await bodyOf(call);
  const keys = keySet(jwks) ?? inspection.service.jwks?.();
  const signatures = signaturesOf(card);
  const view: CardCheckView = await verifyCard(card, {
    trusted: keys === undefined ? [] : [{ keys }],
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

const keySetSchema: z.ZodType<PublicKeySet> = z.object({
  keys: z.array(z.custom<PublicKeySet['keys'][number]>()),
});

/** A key set, or a single key. */
function keySet(given: JsonValue | undefined): PublicKeySet | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  const read = keySetSchema.safeParse('keys' in given ? given : { keys: [given] });
  if (read.success) return read.data;
  throw invalidParams({ field: 'jwks', description: 'must be a key or a key set' });
}
