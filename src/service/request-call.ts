import type { Caller } from '../agents/index.ts';
import { AuthError, type AuthRequest } from '../auth/index.ts';
import { LegateError, negotiateVersion, type ProtocolVersion } from '../protocol/index.ts';
import type { Call } from '../tasks/index.ts';
import type { Service } from './service.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Properties of a request besides its headers. */
export interface CallSource {
  readonly caller: Caller;
  readonly version: ProtocolVersion;
  /** See `Call.isLocal`. */
  readonly isLocal: () => boolean;
  /** Aborts when the caller disconnects. */
  readonly signal?: AbortSignal;
}

/** Creates the call of a request from its headers, or from the metadata of gRPC. */
export function callOf(headers: Headers, source: CallSource): Call {
  const key = textOf(headers['idempotency-key']);
  const lastEventId = textOf(headers['last-event-id']);
  const traceparent = textOf(headers['traceparent']);
  const tracestate = traceparent === '' ? '' : textOf(headers['tracestate']);
  // No getters here: V8 keeps those of a literal in hidden classes, which hold the request until a
  // full collection.
  return {
    ...source,
    extensions: extensionsOf(headers),
    ...(key !== '' && { idempotencyKey: checkKey(key) }),
    ...(/^\d{1,15}$/.test(lastEventId) && { lastEventId: Number(lastEventId) }),
    ...(traceparent !== '' && { traceparent }),
    ...(tracestate !== '' && { tracestate }),
  };
}

const none: readonly string[] = [];

/** 0.3 prefixes the name with `X-`. Clients of both versions send both headers. */
function extensionsOf(headers: Headers): readonly string[] {
  const named = `${textOf(headers['a2a-extensions'])},${textOf(headers['x-a2a-extensions'])}`;
  if (named === ',') return none;
  return named.split(',').flatMap((item) => item.trim() || []);
}

/** Joins repeated headers into one list. */
function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'object' ? value.join(',') : (value ?? '');
}

/** Longest idempotency key that is accepted, in characters. */
const maxKeyLength = 256;

/**
 * Refuses a key that is too long. Truncated, two keys with the same prefix would be equal, and the second
 * message would count as a duplicate.
 */
function checkKey(key: string): string {
  if (key.length <= maxKeyLength) return key;
  throw new LegateError(
    'INVALID_PARAMS',
    `the Idempotency-Key has ${key.length} characters; send at most ${maxKeyLength}`,
  );
}

/** The version that a request states, by its header or else by the query; empty where it states none. */
export function statedVersion(headers: Headers, query?: URLSearchParams): string {
  const header = textOf(headers['a2a-version']);
  return header === '' ? (query?.get('A2A-Version') ?? '') : header;
}

/**
 * Throws if a request states another version than its path, method or service belongs to. A request
 * that states none counts as 0.3.
 */
export function checkVersion(
  { isLenient }: Service,
  stated: string,
  { expected, what }: { readonly expected: ProtocolVersion; readonly what: string },
): void {
  if (negotiateVersion({ header: stated }) === expected || (stated === '' && isLenient)) return;
  throw new LegateError(
    'VERSION_NOT_SUPPORTED',
    `this ${what} belongs to A2A ${expected}: send the header A2A-Version: ${expected}`,
    { metadata: { supportedVersions: expected } },
  );
}

/**
 * Response headers that name the active ones among the extensions that the caller requested, in the
 * spelling of its version; undefined if there are none.
 */
export function extensionHeaders(
  { cards }: Service,
  { extensions = none, version }: Call,
): Record<string, string> | undefined {
  if (extensions.length === 0) return undefined;
  const declared = cards.current.capabilities.extensions ?? [];
  const active = declared.map(({ uri }) => uri).filter((uri) => extensions.includes(uri));
  if (active.length === 0) return undefined;
  return { [version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']: active.join(', ') };
}

/** Headers of an error: `Retry-After` and `WWW-Authenticate`. */
export function errorHeaders(error: LegateError): Record<string, string | string[]> {
  return {
    ...(error.retryAfter !== undefined && { 'retry-after': String(Math.ceil(error.retryAfter)) }),
    ...(error instanceof AuthError && { 'www-authenticate': [...error.challenges] }),
  };
}

/** Authenticates the caller before the request is read. `address`: the remote address. */
export function authenticate(
  { auth, callerLimits }: Service,
  address: string,
  request: () => AuthRequest,
): Caller | Promise<Caller> {
  return (
    auth.anonymousCaller ?? callerLimits.authentication(address, () => auth.authenticate(request()))
  );
}

/** A permit for one request of a caller; dispose of it once the answer is sent. */
export function admit(
  { load, callerLimits }: Service,
  caller: Caller,
  address: string,
): Disposable | Promise<Disposable> {
  load.note();
  return callerLimits.request(caller, address);
}

/**
 * A permit for an open stream of a caller. Streams are counted apart from requests. The permit of the
 * request is released, so that open streams never prevent a caller from cancelling.
 */
export function admitStream(
  { callerLimits }: Service,
  caller: Caller,
  address: string,
  request: Disposable,
): Disposable {
  const stream = callerLimits.stream(caller, address);
  request[Symbol.dispose]();
  return stream;
}
