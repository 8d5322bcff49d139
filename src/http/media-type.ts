import type { IncomingMessage } from 'node:http';
import { LegateError } from '../protocol/index.ts';

const accepted = new Set(['application/json', 'application/a2a+json']);

/** Refuses a body that does not claim to be JSON; a missing claim is forgiven. */
export function requireJson(request: IncomingMessage): void {
  const header = request.headers['content-type'];
  if (header === undefined || accepted.has(header) || accepted.has(essence(header))) return;
  throw new LegateError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    `content-type ${header} is not supported; send application/json`,
    { metadata: { mediaType: header } },
  );
}

/** `application/json`, unless the caller names the protocol's own media type. */
export function responseMediaType(request: IncomingMessage): string {
  const named = `${request.headers.accept ?? ''},${request.headers['content-type'] ?? ''}`;
  return named.includes('application/a2a+json') ? 'application/a2a+json' : 'application/json';
}

function essence(header: string): string {
  return header.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
