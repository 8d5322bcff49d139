import { pipeline } from 'node:stream/promises';
import { invalidParams, LegateError, parseJson } from '../../protocol/index.ts';
import { readBody } from '../request.ts';
import type { AgentProxy } from './agent-proxy.ts';
import {
  type ApiCall,
  audited,
  bodyOf,
  type Inspection,
  reply,
  type Routes,
} from './inspection.ts';

/**
 * Calls another agent for the page, once the operator has named it. The answer's status and headers travel as headers of their own:
 * they are the other agent's, and no browser shall act on them as if they were ours.
 */
export const proxyRoutes: Routes = [
  ['POST', 'agents', nameAgent],
  ['POST', 'proxy', forward],
];

/** What the page may not decide, or must not send in our name. */
const ownHeaders = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
]);
const methods = ['GET', 'POST', 'DELETE'];

async function nameAgent(inspection: Inspection, call: ApiCall): Promise<void> {
  const { url } = await bodyOf(call);
  if (typeof url !== 'string') {
    throw invalidParams({ field: 'url', description: 'must be the address of an agent' });
  }
  required(inspection).name(url, call.request);
  audited(inspection, call, 'audit.agent_named', { origin: new URL(url).origin });
  reply(call.response, {});
}

function required({ proxy }: Inspection): AgentProxy {
  if (proxy !== undefined) return proxy;
  throw new LegateError(
    'UNSUPPORTED_OPERATION',
    'this server calls no other agents for the inspector; switch its proxy on',
  );
}

async function forward(inspection: Inspection, call: ApiCall): Promise<void> {
  const proxy = required(inspection);
  const { request, response } = call;
  const url = headerOf(call, 'x-inspect-url');
  const method = headerOf(call, 'x-inspect-method');
  if (!methods.includes(method)) {
    throw invalidParams({ field: 'method', description: `must be one of ${methods.join(', ')}` });
  }
  const headers = headersOf(call);
  const body = await readBody(request, call.limits);
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const answer = await proxy.fetch(
    url,
    { method, headers, signal: leaving.signal, ...(method === 'POST' && { body }) },
    request,
  );
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'cache-control': 'no-store, no-transform',
    'x-content-type-options': 'nosniff',
    'x-inspect-status': String(answer.status),
    'x-inspect-headers': encodeURIComponent(JSON.stringify([...answer.headers])),
  });
  if (answer.body === null) return void response.end();
  response.flushHeaders();
  // A page that leaves ends the call; an agent that breaks off breaks the answer off.
  await pipeline(answer.body, response).catch(() => response.destroy());
}

function headerOf({ request }: ApiCall, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

function headersOf(call: ApiCall): Record<string, string> {
  const given = parseJson(decoded(headerOf(call, 'x-inspect-headers')) || '{}');
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidParams({ field: 'headers', description: 'must be a JSON object' });
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!ownHeaders.has(name.toLowerCase()))
      headers[name] = typeof value === 'string' ? value : JSON.stringify(value);
  }
  return headers;
}

/** Header values are Latin-1, and JSON is not. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw invalidParams({ field: 'headers', description: 'must be percent-encoded' });
  }
}
