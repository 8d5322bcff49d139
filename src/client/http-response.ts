import { type ErrorCode, LegateError } from '../protocol/index.ts';
import { retryAfterMs } from '../time/index.ts';
import { discard, type Http, type HttpRequest, targetOf, unreachable } from './http.ts';

/** Reads the text of a response, up to `maxBodySize`. */
export async function readText(
  response: Response,
  request: HttpRequest,
  http: Http,
): Promise<string> {
  const limit = http.maxBodySize;
  const declared = Number(response.headers.get('Content-Length') ?? 0);
  if (declared > limit) {
    await discard(response);
    throw tooLarge(request, limit);
  }
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw unreachable(request, error);
    });
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel().catch(() => undefined);
      throw tooLarge(request, limit);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(request: HttpRequest, limit: number): LegateError {
  return new LegateError(
    'PEER_INVALID',
    `${targetOf(request)} answered with more than ${limit} bytes (maxBodySize)`,
  );
}

/** Error codes by HTTP status, for responses without an A2A error. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  408: 'REQUEST_TIMEOUT',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/**
 * Creates the error of an unsuccessful response. `readError` decodes the binding's own format and returns
 * undefined for others, such as the error pages of proxies.
 */
export async function failureOf(
  response: Response,
  request: HttpRequest,
  http: Http,
  readError: (body: string) => LegateError | undefined,
): Promise<LegateError> {
  const { status } = response;
  const body = await readText(response, request, http);
  const decoded = readError(body);
  const code = codeOfStatus[status];
  const retryAfter = decoded?.retryAfter ?? secondsOf(response, http.now());
  const retryOption = retryAfter !== undefined && { retryAfter };
  if (decoded === undefined) {
    const what = code === undefined ? ' without an A2A error' : '';
    return new LegateError(
      code ?? 'PEER_INVALID',
      `${targetOf(request)} answered ${status}${what}${adviceFor(status)}`,
      { metadata: { status: String(status) }, ...retryOption },
    );
  }
  // A peer without a matching error code still sends the matching status.
  const isVague = decoded.code === 'INTERNAL' && code !== undefined;
  if (!isVague && retryAfter === decoded.retryAfter) return decoded;
  return new LegateError(isVague ? code : decoded.code, decoded.message, {
    ...(decoded.metadata !== undefined && { metadata: decoded.metadata }),
    ...(decoded.violations !== undefined && { violations: decoded.violations }),
    ...retryOption,
    cause: decoded,
  });
}

function adviceFor(status: number): string {
  if (status === 401) return ': the credentials are missing or invalid';
  if (status === 403) return ': the credentials lack the permission';
  if (status === 404) return ': check the address in the agent card';
  return '';
}

/** `Retry-After` in whole seconds. */
function secondsOf({ headers }: Response, now: number): number | undefined {
  const delay = retryAfterMs(headers.get('Retry-After'), now);
  return delay === undefined ? undefined : Math.ceil(delay / 1_000);
}
