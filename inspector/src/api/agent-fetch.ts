import { about } from './about.ts';
import { baseUrl, jsonOf, post, request, withCredential } from './api.ts';

/** Statuses of responses without a body. */
const bodiless = new Set([204, 205, 304]);

/**
 * `fetch` for agents. The server's own agents get the operator's credential; others are called directly,
 * or through the server's proxy.
 */
export const agentFetch: typeof fetch = async (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : String(input));
  if (url.href.startsWith(baseUrl.href)) {
    const headers = new Headers(init.headers);
    return fetch(withCredential(url, headers), { ...init, headers });
  }
  return about.peek()?.hasProxy === true ? throughServer(url, init) : fetch(url, init);
};

/** Allows the server's proxy to call the agent that the operator chose; it calls no others. */
export async function allowAgent(address: string): Promise<void> {
  if (about.peek()?.hasProxy === true) await post('agents', { url: address });
}

async function throughServer(url: URL, init: RequestInit): Promise<Response> {
  const headers = Object.fromEntries(new Headers(init.headers));
  const answer = await request('proxy', {
    method: 'POST',
    body: init.body ?? '',
    headers: {
      'content-type': 'application/octet-stream',
      'x-inspect-url': url.href,
      'x-inspect-method': init.method ?? 'GET',
      'x-inspect-headers': encodeURIComponent(JSON.stringify(headers)),
    },
    signal: init.signal ?? null,
  });
  const status = Number(answer.headers.get('x-inspect-status'));
  const received = decodeURIComponent(answer.headers.get('x-inspect-headers') ?? '[]');
  return new Response(bodiless.has(status) ? null : answer.body, {
    status: status < 200 || status > 599 ? 502 : status,
    headers: jsonOf<[string, string][]>(received),
  });
}
