import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PlainRequest } from './plain-request.ts';
import type { PlainResponse } from './plain-response.ts';

/** A request as the doors take it: of `node:http`, of a framework on top of it, or a plain one. */
export type HttpRequest = IncomingMessage | PlainRequest;

/** The answer to it. */
export type HttpResponse = ServerResponse | PlainResponse;
