import { invalidConfiguration } from '../../protocol/index.ts';
import type { Store, StoreOptions } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/**
 * Checks `SANIC_WORKERS`, the number of workers of a Rasa server. Legate has no workers: it scales by
 * replicas on a shared store. With a durable store the setting is ignored. With the memory store more
 * than one worker is rejected as in Rasa, because each worker would have its own tasks.
 */
export function checkWorkers(
  environment: NodeJS.ProcessEnv,
  store: Store | StoreOptions,
  logger: Logger,
): void {
  const workers = Number(environment['SANIC_WORKERS'] ?? 1);
  if (!(workers > 1)) return;
  const type = 'type' in store ? store.type : 'given';
  if (type === 'memory') {
    throw invalidConfiguration(
      `SANIC_WORKERS=${workers} with a store in memory: each worker would have tasks of its own; ` +
        'set SANIC_WORKERS=1, or configure a durable store (store: {type: sqlite}, or postgres), with which ' +
        'there is no such limit [validation.a2a_server.incompatible_sanic_workers]',
    );
  }
  logger.info({ workers, store: type }, 'assistant.workers_not_needed');
}

/** Rasa's names of log events that operators have configured alerts for. */
const rasaNames: Readonly<Record<string, string>> = {
  'audit.unauthenticated': 'a2a_server.sanic_app.auth_rejected',
  'http.stream.failed': 'a2a_server.sanic_app.stream_sse.error',
  'tasks.context_limit': 'a2a_server.rasa_a2a_agent_executor.execute.context_limit',
  'tasks.message.in_flight': 'a2a_server.sanic_app.message_in_flight_conflict',
  'tasks.turn.timeout': 'a2a_server.rasa_a2a_agent_executor.task_timeout',
};

/** A logger that uses Rasa's event names where Rasa has one. */
export function withRasaNames(logger: Logger): Logger {
  const named =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] =>
    (fields, event) =>
      logger[level](fields, rasaNames[event] ?? event);
  return {
    debug: named('debug'),
    info: named('info'),
    warn: named('warn'),
    error: named('error'),
    child: (fields) => withRasaNames(logger.child(fields)),
  };
}
