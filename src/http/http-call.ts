import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../agents/index.ts';
import type { Operation } from '../protocol/index.ts';
import type { Call } from '../tasks/index.ts';
import { callOfRequest } from './request.ts';

export function callOf(
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  version: '0.3' | '1.0',
  operation: Operation,
): Call {
  return callOfRequest(request, response, { caller, version, operation });
}
