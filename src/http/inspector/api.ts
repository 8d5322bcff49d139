import { z } from 'zod';
import { verifyCard } from '../../auth/index.ts';
import { present } from '../../config/index.ts';
import { isJsonObject, LegateError } from '../../protocol/index.ts';
import type { PublicKeySet } from '../../push/index.ts';
import { Deadline } from '../../time/index.ts';
import { closeSignal } from '../request.ts';
import { bindingRoutes } from './agent-binding.ts';
import { proxyRoutes } from './agent-proxy.ts';
import { networkRoutes } from './api-network.ts';
import { pushRoutes } from './api-push.ts';
import { conversationRoutes } from './conversations.ts';
import { type ApiCall, bodyOf, type Inspection, notFound, type Routes } from './inspection.ts';
import { liveRoutes } from './live.ts';
import type { AboutView, CardCheckView, ConversationView, TestRunView } from './model.ts';
import type { InspectedAssistant } from './options.ts';
import { taskRoutes } from './tasks.ts';

/** All routes of the API. */
export const routes: Routes = [
  ['GET', 'about', about],
  ...taskRoutes,
  ...conversationRoutes,
  ...pushRoutes,
  ['GET', 'assistants/{agent}/flows', (inspection, call) => assistantOf(inspection, call).flows()],
  ['GET', 'assistants/{agent}/conversations/{id}', showConversation],
  ['GET', 'assistants/{agent}/tests', (inspection, call) => assistantOf(inspection, call).tests()],
  ['POST', 'assistants/{agent}/tests', runTest],
  ...networkRoutes,
  ['POST', 'cards/check', checkCard],
  ...liveRoutes,
  ...proxyRoutes,
  ...bindingRoutes,
];

function about(inspection: Inspection, { operator }: ApiCall): AboutView {
  const { agent, service, assistant, target } = inspection;
  const own = { name: agent, card: service.cards.current, isAssistant: assistant !== undefined };
  return {
    version: inspection.version,
    agents: target === undefined ? [own] : [],
    ...(target !== undefined && {
      target: present({ url: target.url, name: target.name, card: target.card }),
    }),
    hasGrpc: inspection.bindings !== undefined && inspection.proxy !== undefined,
    store: inspection.store.driver,
    hasPush: inspection.push !== undefined,
    hasNetwork: inspection.network !== undefined,
    hasProxy: inspection.proxy !== undefined,
    receiverKey: inspection.receiver.key,
    operator: operator.subject,
  };
}

function assistantOf({ agent, assistant }: Inspection, { params }: ApiCall): InspectedAssistant {
  const { agent: name = '' } = params;
  if (assistant === undefined || name !== agent) throw notFound(`assistant ${name} here`);
  return assistant;
}

async function showConversation(inspection: Inspection, call: ApiCall): Promise<ConversationView> {
  const { id = '' } = call.params;
  const { query } = call;
  const owner = { tenant: query.get('tenant') ?? '', subject: query.get('subject') ?? '' };
  return { id, tracker: await assistantOf(inspection, call).tracker(id, owner) };
}

const testRun = z.union([
  z.object({ file: z.string(), name: z.string() }),
  z.object({ yaml: z.string() }),
]);

async function runTest(inspection: Inspection, call: ApiCall): Promise<TestRunView> {
  const assistant = assistantOf(inspection, call);
  const test = await bodyOf(call, testRun);
  using deadline = new Deadline({ signal: [closeSignal(call.response), inspection.closing] });
  const { signal } = deadline;
  return await assistant.runTest(test, { operator: call.operator, signal });
}

const publicKey = z.custom<PublicKeySet['keys'][number]>(isJsonObject);
const keySet = z.object({ keys: z.array(publicKey) });

const cardCheck = z.object({
  card: z.json().default(null),
  /** A key set, or a single key. */
  jwks: z.union([keySet, publicKey.transform((key) => ({ keys: [key] }))]).optional(),
});

/** Verifies a card's signatures with the given keys, or with the keys of this server. */
async function checkCard(inspection: Inspection, call: ApiCall): Promise<CardCheckView> {
  const { card, jwks } = await bodyOf(call, cardCheck);
  const keys = jwks ?? (await inspection.service.jwks?.());
  const listed = isJsonObject(card) ? card['signatures'] : undefined;
  const signatures = Array.isArray(listed) ? listed.length : 0;
  return verifyCard(card, {
    trusted: keys === undefined ? [] : [{ keys }],
    now: inspection.now(),
  }).then(
    ({ kid, form }) => ({ signatures, verified: { kid, form } }),
    (error: unknown) => {
      if (!(error instanceof LegateError)) throw error;
      return { signatures, problem: error.message };
    },
  );
}
