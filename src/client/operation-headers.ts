import type { TransportStream } from './transport.ts';

/** The headers of an operation in any binding. */
export function operationHeaders(
  version: '1.0' | '0.3',
  extensions: readonly string[],
  call: TransportStream,
): Record<string, string> {
  return {
    'A2A-Version': version,
    ...(extensions.length > 0 && {
      [version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions']: extensions.join(', '),
    }),
    ...(isHeaderValue(call.lastEventId) && { 'Last-Event-ID': call.lastEventId }),
    ...call.headers,
  };
}

/** An id that a header cannot carry is not sent: the peer then begins with the task as it is. */
function isHeaderValue(id: string | undefined): id is string {
  return id !== undefined && /^[\x21-\x7e]{1,256}$/.test(id);
}
