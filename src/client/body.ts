import { LegateError, parseJson } from '../protocol/index.ts';
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
