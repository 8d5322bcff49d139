import type { OperationResult } from './operations.ts';
import type { Service } from './service.ts';

/** Ids that are safe in a header and a cookie; others are left out. */
const plain = /^[\w.~:-]{1,128}$/;

/**
 * Names the context of an answer for ingress rules that were written to route by it. Legate itself
 * needs no such routing.
 */
export function contextHints(service: Service, result: OperationResult): Record<string, string> {
  if (!service.setsContextHints || result.kind !== 'json') return {};
  const { contextId } = result;
  if (contextId === undefined || !plain.test(contextId)) return {};
  return {
    'x-a2a-context-id': contextId,
    'set-cookie': `a2a-context-id=${contextId}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax`,
  };
}
