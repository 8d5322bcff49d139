import { type ErrorCode, LegateError, parseJson } from '../protocol/index.ts';
import { retryAfterMs } from '../time/index.ts';
import { discard, type Http, type HttpRequest, targetOf, unreachable } from './http.ts';

/** The text of an answer, as long as it stays within the bound. */
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

/** JSON within its bounds, or undefined for what is none. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** What a status means where the body does not say it better. */
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
 * The error that an answer without success stands for. `readError` reads the binding's own shape
 * and returns undefined for what is none; proxies and web servers answer in theirs.
 */
export async function failureOf(
  response: Response,
  request: HttpRequest,
  http: Http,
  readError: (body: string) => LegateError | undefined,
): Promise<LegateError> {
  const { status } = response;
  const body = await readText(response, request, http);
  const told = readError(body);
  const code = codeOfStatus[status];
  const retryAfter = told?.retryAfter ?? secondsOf(response, http.now());
  const patience = retryAfter !== undefined && { retryAfter };
  if (told === undefined) {
    const what = code === undefined ? ', which is not an A2A answer' : '';
    return new LegateError(
      code ?? 'PEER_INVALID',
      `${targetOf(request)} answered ${status}${what}${adviceFor(status)}`,
      { metadata: { status: String(status) }, ...patience },
    );
  }
  // A peer that has no code for what happened still has the right status.
  const isVague = told.code === 'INTERNAL' && code !== undefined;
  if (!isVague && retryAfter === told.retryAfter) return told;
  return new LegateError(isVague ? code : told.code, told.message, {
    ...(told.metadata !== undefined && { metadata: told.metadata }),
    ...(told.violations !== undefined && { violations: told.violations }),
    ...patience,
    cause: told,
  });
}

function adviceFor(status: number): string {
  if (status === 401) return ': it asks for credentials, or for other ones';
  if (status === 403) return ': these credentials do not suffice';
  if (status === 404) return ': check the address in the agent card';
  return '';
}

/** `Retry-After` in whole seconds. */
function secondsOf({ headers }: Response, now: number): number | undefined {
  const asked = retryAfterMs(headers.get('Retry-After'), now);
  return asked === undefined ? undefined : Math.ceil(asked / 1_000);
}
