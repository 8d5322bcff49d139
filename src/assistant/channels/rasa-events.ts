import type { Logger } from '../../telemetry/index.ts';

/** Rasa's names of log events that operators have alerts for. */
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
