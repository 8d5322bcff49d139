import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dialect, LegateError } from '../protocol/index.ts';
import { extensionHeaders, type OperationResult } from '../service/index.ts';
import type { Call } from '../tasks/index.ts';
import { sendJson } from './respond.ts';
import type { HttpService } from './service.ts';
import { sendEvents } from './sse.ts';

/** How JSON-RPC and REST put what an operation answers on the wire. */
export interface Answer {
  readonly dialect: Dialect;
  readonly call: Call;
  /** Aborts when the server has drained: streams that are left are then ended. */
  readonly closing: AbortSignal;
  readonly mediaType: string;
  /** Text around each JSON value. */
  readonly envelope: readonly [before: string, after: string];
  /** The JSON value of an operation that answers nothing. */
  readonly nothing: string;
  /** The frame that tells of a failure in the middle of a stream. */
  readonly errorFrame: (error: LegateError) => string;
}

export async function sendResult(
  service: HttpService,
  response: ServerResponse,
  result: OperationResult,
  answer: Answer,
): Promise<void> {
  const { dialect, call, closing, mediaType, nothing } = answer;
  const [before, after] = answer.envelope;
  if (result.kind === 'stream') {
    return sendEvents(response, result.stream, {
      encode({ body, isLast }) {
        const text =
          dialect.version === '1.0'
            ? body.text
            : JSON.stringify(dialect.streamResponse.encode(body.value, isLast));
        return `${before}${text}${after}`;
      },
      encodeError: answer.errorFrame,
      logger: service.logger,
      keepAliveMs: service.limits.keepAliveMs,
      extraHeaders: extensionHeaders(service, call),
      closing,
    });
  }
  const text = result.kind === 'json' ? result.text : nothing;
  return sendJson(response, 200, `${before}${text}${after}`, {
    ...contextHints(service, result),
    ...extensionHeaders(service, call),
    'content-type': mediaType,
  });
}

/** `application/json`, unless the caller names the protocol's own media type. */
export function responseMediaType({ headers }: IncomingMessage): string {
  const named = `${headers.accept ?? ''},${headers['content-type'] ?? ''}`;
  return named.includes('application/a2a+json') ? 'application/a2a+json' : 'application/json';
}

/** Ids that are safe in a header and a cookie; others are left out. */
const plain = /^[\w.~:-]{1,128}$/;

/**
 * Names the context of an answer for ingress rules that were written to route by it. Legate itself
 * needs no such routing.
 */
function contextHints(
  { setsContextHints }: HttpService,
  result: OperationResult,
): Record<string, string> | undefined {
  if (!setsContextHints || result.kind !== 'json') return undefined;
  const { contextId } = result;
  if (contextId === undefined || !plain.test(contextId)) return undefined;
  return {
    'x-a2a-context-id': contextId,
    'set-cookie': `a2a-context-id=${contextId}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax`,
  };
}
