import { LegateError } from '../../protocol/index.ts';
import type { StoreOptions } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/**
 * `SANIC_WORKERS` asks for several workers in one server. Legate has none: it scales by replicas on a
 * shared store. With a store that lasts the wish does no harm; with one in memory each worker would
 * have had tasks of its own, so it is refused, as projects that set it expect.
 */
export function checkWorkers(
  environment: NodeJS.ProcessEnv,
  store: StoreOptions,
  logger: Logger,
): void {
  const workers = Number(environment['SANIC_WORKERS'] ?? 1);
  if (!(workers > 1)) return;
  if (store.type === 'memory') {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `validation.a2a_server.incompatible_sanic_workers: SANIC_WORKERS=${workers} with a store in memory; ` +
        'set SANIC_WORKERS=1, or configure a durable store (store: {type: sqlite} or {type: postgres}), ' +
        'with which there is no such limit',
    );
  }
  logger.info(
    { workers, store: store.type },
    'SANIC_WORKERS is not needed: tasks are durable, so run as many replicas as you like on one PostgreSQL',
  );
}
