import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../src/agents/index.ts';
import { LegateError } from '../../src/protocol/index.ts';

/**
 * The tokens that the suites present. They prove nothing and guard nothing: they are here to see
 * what a caller with, with too little and without authority is told.
 */
const sufficientToken = 'itk-valid-token';
const insufficientToken = 'itk-insufficient-token';

const scope = 'conformance';

/** Whoever asks has the same tasks: a suite may present a token in one step and none in the next. */
export function callerOf(request: IncomingMessage): Caller {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const isKnown = token === sufficientToken || token === insufficientToken;
  return {
    tenant: '',
    subject: '',
    method: isKnown ? 'bearer' : 'anonymous',
    scopes: token === sufficientToken ? [scope] : [],
  };
}

/** Lets the sufficient token pass and tells the others why not. */
export function requireAuthority(caller: Caller): Caller {
  if (caller.scopes?.includes(scope) === true) return caller;
  throw caller.method === 'anonymous'
    ? new LegateError('UNAUTHENTICATED', `present the bearer token ${sufficientToken}`)
    : new LegateError('PERMISSION_DENIED', `this needs the bearer token ${sufficientToken}`);
}
