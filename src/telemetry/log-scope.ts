import { AsyncLocalStorage } from 'node:async_hooks';
import { trace } from '@opentelemetry/api';

/** What every line says while a piece of work goes on. */
export type LogFields = Readonly<Record<string, string | number>>;

const scopes = new AsyncLocalStorage<LogFields>();

/**
 * Runs work of which every log line shall bear the same fields, whichever logger writes it and however
 * far down: `createLogger` adds them.
 * @example inLogScope({ turnId: 'a.1' }, () => logger.info({}, 'said'));
 */
export function inLogScope<T>(fields: LogFields, work: () => T): T {
  return scopes.run(fields, work);
}

/** The fields of the present scope, with the trace if there is one. */
export function logScope(): LogFields {
  const fields = scopes.getStore() ?? none;
  const traceId = trace.getActiveSpan()?.spanContext().traceId;
  return traceId === undefined ? fields : { ...fields, traceId };
}

const none: LogFields = {};
