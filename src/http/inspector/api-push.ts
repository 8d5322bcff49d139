import { z } from 'zod';
import { present } from '../../config/index.ts';
import { redactPushConfig } from '../../push/index.ts';
import {
  type ApiCall,
  audited,
  between,
  bodyOf,
  type Inspection,
  notFound,
  queryOf,
  type Routes,
} from './inspection.ts';
import type { AttemptView, DeliveryView, PushConfigView } from './model.ts';

/** Maximum number of tasks whose configurations are listed, latest first. */
const maxTasks = 500;

/** Webhooks: registrations, deliveries and their attempts, and the built-in receiver. */
export const pushRoutes: Routes = [
  ['GET', 'push/configs', listConfigs],
  ['GET', 'push/deliveries', listDeliveries],
  ['POST', 'push/deliveries/{id}/retry', retryDelivery],
  ['GET', 'push/attempts', listAttempts],
  ['GET', 'receiver', ({ receiver }) => receiver.calls.entries],
  [
    'DELETE',
    'receiver',
    ({ receiver }) => {
      receiver.calls.clear();
      return [];
    },
  ],
];

const taskQuery = z.object({ task: z.string().optional() });

async function listConfigs({ store }: Inspection, call: ApiCall): Promise<PushConfigView[]> {
  const { task } = queryOf(call, taskQuery);
  const latest = task === undefined ? (await store.list({ limit: maxTasks })).records : [];
  const ids = latest.filter(({ hasPush }) => hasPush).map(({ id }) => id);
  const views: PushConfigView[] = [];
  for (const taskId of task === undefined ? ids : [task]) {
    for (const { config, wireVersion } of await store.push.list(taskId)) {
      views.push({ taskId, wireVersion, config: { ...redactPushConfig(config), id: config.id } });
    }
  }
  return views;
}

const deliveriesQuery = taskQuery.extend({
  state: z.enum(['pending', 'dead']).optional(),
  limit: between(1, 500).default(200),
  after: between(0, Number.MAX_SAFE_INTEGER).default(0),
});

async function listDeliveries({ store }: Inspection, call: ApiCall): Promise<DeliveryView[]> {
  const { task: taskId, ...query } = queryOf(call, deliveriesQuery);
  const deliveries = await store.push.deliveries(present({ ...query, taskId }));
  return deliveries.map(({ push, ...delivery }) => {
    const { id, taskId: ofTask, sequence, attempts, state, nextAttemptAt, lastError } = delivery;
    return present({
      id,
      taskId: ofTask,
      sequence,
      attempts,
      state,
      nextAttemptAt,
      lastError,
      url: redactPushConfig(push.config).url,
      configId: push.config.id,
    });
  });
}

function listAttempts({ attempts }: Inspection, call: ApiCall): readonly AttemptView[] {
  const { task } = queryOf(call, taskQuery);
  const latest = attempts.entries.toReversed();
  return task === undefined ? latest : latest.filter(({ taskId }) => taskId === task);
}

async function retryDelivery(inspection: Inspection, call: ApiCall): Promise<object> {
  await bodyOf(call, z.object({}));
  const id = Number(call.params['id']);
  const isRevived = await inspection.store.push.revive(id);
  if (!isRevived) throw notFound(`dead delivery ${id}: it was delivered, or is being retried`);
  inspection.push?.wake();
  inspection.live.poll();
  audited(inspection, call, 'audit.push.revived', { deliveryId: id });
  return {};
}
