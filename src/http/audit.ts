import type { IncomingMessage } from 'node:http';
import { type LegateError, toLegateError } from '../protocol/index.ts';
import type { DeniedRequest, Service } from '../service/index.ts';

export { AuditLog } from '../service/index.ts';

/** Longest path that is told. */
const maxPathLength = 200;

/** A request in the words of the audit log. */
export function describeRequest(request: IncomingMessage): Omit<DeniedRequest, 'caller'> {
  const { method = '', url = '' } = request;
  const path = url.split('?', 1)[0] ?? '';
  return {
    address: request.socket.remoteAddress ?? '',
    what: `${method} ${path.slice(0, maxPathLength)}`,
  };
}

/** Audits and logs what a request failed with, as far as that is of interest to operators. */
export function reported(
  { audit, logger }: Pick<Service, 'audit' | 'logger'>,
  request: IncomingMessage,
  thrown: unknown,
  known: Partial<Pick<DeniedRequest, 'what' | 'caller'>> = {},
): LegateError {
  const error = toLegateError(thrown);
  if (error.code === 'INTERNAL') {
    logger.error({ error: error.cause ?? error }, 'http.internal_error');
  }
  audit.denied(error, { ...describeRequest(request), ...known });
  return error;
}
