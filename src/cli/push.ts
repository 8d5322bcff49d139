import { present } from '../config/index.ts';
import { LegateError } from '../protocol/index.ts';
import { redactPushConfig } from '../push/index.ts';
import type { DeliveryRecord, Store } from '../store/index.ts';
import type { PushListOptions, PushRetryOptions } from './commands/operations.ts';
import { inStore } from './endpoints.ts';
import { printResult } from './print.ts';
import { usage } from './usage.ts';

/** Page size of reads. */
const pageSize = 100;

/** Lists the deliveries of a store, also while a server has it open. */
export async function listDeliveries(options: PushListOptions): Promise<void> {
  await inStore(options.store, async (store) => {
    let shown = 0;
    for await (const record of deliveries(store, options)) {
      printResult(shownRecord(record), line(record), options);
      shown += 1;
    }
    if (shown === 0 && options.json !== true) console.error('No deliveries match.');
  });
}

/** Schedules dead deliveries for another round of attempts. */
export async function retryDeliveries(
  ids: readonly number[],
  options: PushRetryOptions,
): Promise<void> {
  const isAll = options.all === true;
  if ((ids.length === 0) !== isAll) {
    throw usage('which deliveries? Give their ids, or --all');
  }
  await inStore(options.store, async (store) => {
    const all = { state: 'dead', limit: Number.MAX_SAFE_INTEGER } as const;
    // Reads all pages before the state of the first delivery changes.
    const wanted = isAll ? await Array.fromAsync(deliveries(store, all), ({ id }) => id) : ids;
    const missing: number[] = [];
    for (const id of wanted) {
      // Another process can revive a delivery first; with --all this is not a failure.
      if (await store.push.revive(id)) {
        printResult({ id, state: 'pending' }, `delivery ${id} will be retried`, options);
        // The same log event as the server's, for log collectors.
        const event = { audit: 'action', event: 'audit.push.revived', deliveryId: id };
        console.error(JSON.stringify(event));
      } else if (!isAll) missing.push(id);
    }
    if (isAll && wanted.length === 0 && options.json !== true)
      console.error('There are no dead deliveries.');
    if (missing.length === 0) return;
    throw new LegateError(
      'INVALID_PARAMS',
      `there is no dead delivery ${missing.join(', ')}; "legate push list --state dead" lists them`,
    );
  });
}

async function* deliveries(
  { push }: Store,
  options: Pick<PushListOptions, 'state' | 'task' | 'limit' | 'after'>,
): AsyncGenerator<DeliveryRecord> {
  let { after } = options;
  for (let left = options.limit; left > 0;) {
    const page = await push.deliveries({
      ...present({ state: options.state, taskId: options.task, after }),
      limit: Math.min(left, pageSize),
    });
    yield* page;
    left -= page.length;
    after = page.at(-1)?.id;
    if (page.length < pageSize) return;
  }
}

/** Omits secrets and the path of the URL, which can be a secret. */
function shownRecord(record: DeliveryRecord): object {
  const { id, state, taskId, sequence, attempts, nextAttemptAt, lastError, push } = record;
  const { url: _url, id: config, ...rest } = redactPushConfig(push.config);
  const scheme = rest.authentication?.scheme;
  return {
    id,
    state,
    taskId,
    event: sequence,
    config,
    to: originOf(push.config.url),
    version: push.wireVersion,
    ...(scheme !== undefined && { authentication: scheme }),
    attempts,
    ...(state === 'pending' && { nextAttemptAt: new Date(nextAttemptAt).toISOString() }),
    ...(lastError !== undefined && { lastError }),
  };
}

function line(record: DeliveryRecord): string {
  const { id, state, taskId, sequence, attempts, lastError, push } = record;
  const why = lastError === undefined ? '' : `  ${lastError}`;
  return `${id}  ${state}  task ${taskId}  event ${sequence}  to ${originOf(push.config.url)}  attempts ${attempts}${why}`;
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'an invalid URL';
}
