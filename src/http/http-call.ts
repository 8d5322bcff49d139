import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../agents/index.ts';
import type { Call } from '../tasks/index.ts';

/** Longest idempotency key that is looked at. */
const maxKeyLength = 256;

/** The call that a request's headers describe. */
export function callOf(
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  version: '0.3' | '1.0',
): Call {
  const { headers } = request;
  // 0.3 writes the name with an X; clients of both versions send both.
  const extensions = [headers['a2a-extensions'], headers['x-a2a-extensions']].filter(
    (value) => value !== undefined,
  );
  const key = headers['idempotency-key'];
  const lastEventId = headers['last-event-id'];
  const { traceparent } = headers;
  let signal: AbortSignal | undefined;
  return {
    caller,
    version,
    ...(extensions.length > 0 && { extensions: listOf(extensions.join(',')) }),
    ...(typeof key === 'string' && key !== '' && { idempotencyKey: key.slice(0, maxKeyLength) }),
    ...(typeof lastEventId === 'string' &&
      /^\d{1,15}$/.test(lastEventId) && { lastEventId: Number(lastEventId) }),
    ...(typeof traceparent === 'string' && { traceparent }),
    /** Made on demand: most operations never wait. */
    get signal() {
      signal ??= closeSignal(response);
      return signal;
    },
  };
}

function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

export function listOf(header: string): readonly string[] {
  return header
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
