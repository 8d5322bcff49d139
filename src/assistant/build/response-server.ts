import { Deadline } from '../../time/index.ts';
import { traceHeaders } from '../../telemetry/index.ts';
import { readBounded, readResponse } from '../actions/index.ts';
import type { ResponseWriter } from '../responses/index.ts';

export interface ResponseServerOptions {
  readonly url: string;
  /** Sent as the query parameter `token`. */
  readonly token?: string | undefined;
  /** For one response. @default 10_000 */
  readonly timeoutMs?: number;
  /** @default 256 KiB */
  readonly maxResponseBytes?: number;
}

/**
 * Has responses worded by a server (`nlg.url`): one POST for each, which is not repeated, because the
 * domain has words of its own for when there is no answer.
 */
export function responseServer(options: ResponseServerOptions): ResponseWriter {
  const { token, timeoutMs = 10_000, maxResponseBytes = 256 * 1024 } = options;
  const url = new URL(options.url);
  // For errors and logs: the address without what may be secret in it.
  const name = `response server ${url.origin}${url.pathname}`;
  if (token !== undefined) url.searchParams.set('token', token);
  return {
    async write({ response, id, values, channel, tracker, signal }) {
      const body = {
        response,
        id: id ?? null,
        arguments: values,
        tracker: await tracker(),
        channel: { name: channel },
      };
      using deadline = new Deadline({
        signal,
        milliseconds: timeoutMs,
        reason: () => new Error(`${name} did not answer within ${timeoutMs} ms`),
      });
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...traceHeaders(), 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: deadline.signal,
      });
      const text = await readBounded(answer, maxResponseBytes, name);
      if (!answer.ok) throw new Error(`${name} answered ${answer.status} for ${response}`);
      const message = readResponse(text, name);
      if (message === undefined) throw new Error(`${name} answered nothing for ${response}`);
      return message;
    },
  };
}
