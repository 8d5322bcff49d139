import type { IncomingMessage } from 'node:http';
import { readBytes } from '../net/index.ts';
import type { HttpLimits } from './service.ts';

/**
 * The whole body as text, bounded in size, time and memory. A body that a framework has parsed before
 * (an Express `json()` in front of the handler) is taken as it is.
 */
export async function readBody(request: IncomingMessage, limits: HttpLimits): Promise<string> {
  const parsed = (request as IncomingMessage & { body?: unknown }).body;
  if (parsed !== undefined && (request.readableEnded || request.complete)) {
    return typeof parsed === 'string' ? parsed : JSON.stringify(parsed);
  }
  return (await readBytes(request, limits)).toString('utf8');
}
