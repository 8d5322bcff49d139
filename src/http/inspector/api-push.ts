import { redactPushConfig } from '../../push/index.ts';
import type { DeliveryRecord } from '../../store/index.ts';
import {
  type ApiCall,
  audited,
  bodyOf,
  choiceOf,
  type Inspection,
  nothing,
  numberOf,
  reply,
  type Routes,
} from './inspection.ts';
import type { DeliveryView, PushConfigView } from './model.ts';

/** Tasks whose configurations are looked for: the latest. */
const maxTasks = 500;

/** Webhooks: what is registered, called, owed and given up, and what arrived here. */
export const pushRoutes: Routes = [
  ['GET', 'push/configs', listConfigs],
  ['GET', 'push/deliveries', listDeliveries],
  ['POST', 'push/deliveries/{id}/retry', retryDelivery],
  [
    'GET',
    'push/attempts',
    async ({ attempts }, { response, query }) =>
      reply(response, attempts.list(query.get('task') ?? undefined)),
  ],
  ['GET', 'receiver', async ({ receiver }, { response }) => reply(response, receiver.calls)],
  [
    'DELETE',
    'receiver',
    async ({ receiver }, { response }) => {
      receiver.clear();
      reply(response, []);
    },
  ],
];

async function listConfigs({ store }: Inspection, call: ApiCall): Promise<void> {
  const taskId = call.query.get('task');
  const page = taskId === null ? await store.list({ limit: maxTasks }) : undefined;
  const ids =
    taskId !== null
      ? [taskId]
      : (page?.records ?? []).filter(({ hasPush }) => hasPush).map(({ id }) => id);
  const views: PushConfigView[] = [];
  for (const id of ids) {
    for (const { config, wireVersion } of await store.push.list(id)) {
      views.push({ taskId: id, wireVersion, config: redactPushConfig(config) });
    }
  }
  reply(call.response, views);
}

async function listDeliveries({ store }: Inspection, { query, response }: ApiCall): Promise<void> {
  const state = choiceOf(query, 'state', ['pending', 'dead']);
  const taskId = query.get('task');
  const deliveries = await store.push.deliveries({
    limit: numberOf(query, 'limit', { fallback: 200, min: 1, max: 500 }),
    after: numberOf(query, 'after', { fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
    ...(state !== undefined && { state }),
    ...(taskId !== null && taskId !== '' && { taskId }),
  });
  reply(response, deliveries.map(deliveryView));
}

function deliveryView(delivery: DeliveryRecord): DeliveryView {
  const { id, taskId, sequence, attempts, state, nextAttemptAt, lastError, push } = delivery;
  return {
    id,
    taskId,
    sequence,
    attempts,
    state,
    nextAttemptAt,
    ...(lastError !== undefined && { lastError }),
    url: redactPushConfig(push.config).url,
    configId: push.config.id,
  };
}

async function retryDelivery(inspection: Inspection, call: ApiCall): Promise<void> {
  await bodyOf(call);
  const id = Number(call.params['id']);
  const isRevived = await inspection.store.push.revive(id);
  if (!isRevived) throw nothing(`dead delivery ${id}: it was delivered, or is being tried again`);
  inspection.push?.wake();
  inspection.live.look();
  audited(inspection, call, 'audit.push.revived', { deliveryId: id });
  reply(call.response, {});
}
