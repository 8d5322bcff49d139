import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../agents/index.ts';
import {
  type Dialect,
  type JsonRpcId,
  JsonRpcRequestError,
  LegateError,
  negotiateVersion,
  type Operation,
  operationOf,
  operations,
  parseJson,
  parseJsonRpcRequest,
  type ProtocolVersion,
  statusOf,
  toJsonRpcError,
  v03,
  v1,
} from '../protocol/index.ts';
import {
  checkVersion,
  errorHeaders,
  execute,
  RequestMeter,
  serviceOperations,
  statedVersion,
} from '../service/index.ts';
import type { HttpService } from './options.ts';
import {
  admitAnswer,
  admitRequest,
  authenticateRequest,
  callOfRequest,
  readBody,
  requireJson,
} from './request.ts';
import { reportError, sendJson, sendResult } from './respond.ts';
import { answersWithTask, asRockbotClient, RockbotAnswers } from './rockbot-client.ts';
import { sendEvent } from './sse.ts';

const dialects = { '1.0': v1, '0.3': v03 } as const;

/** Handles a JSON-RPC request of either version. */
export async function handleJsonRpc(
  service: HttpService,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
  closing: AbortSignal,
): Promise<void> {
  let id: JsonRpcId = null;
  let caller: Caller | undefined;
  let what: string | undefined;
  let isLegacyStream = false;
  using meter = new RequestMeter('jsonrpc');
  try {
    caller = await authenticateRequest(service, request, response, query);
    using permit = await admitRequest(service, request, response, caller);
    requireJson(request);
    const text = await readBody(request, service.limits);
    const body = parseJson(text, { maxDepth: service.limits.maxJsonDepth });
    const parsed = parseJsonRpcRequest(body);
    const isRockbot = service.compatibility === 'rockbot';
    const rpc = isRockbot ? asRockbotClient(parsed, () => crypto.randomUUID()) : parsed;
    id = rpc.id ?? null;
    what = rpc.method.slice(0, 100);
    // Method names differ between versions.
    const method = operationOf(rpc.method);
    const stated = statedVersion(request.headers, query);
    if (!isRockbot || stated !== '') checkMethodVersion(service, stated, method?.version);
    if (method === undefined) {
      throw new LegateError('METHOD_NOT_FOUND', `unknown method ${what}`);
    }
    const { version, operation } = method;
    meter.operation = operation;
    const dialect = dialects[version];
    isLegacyStream = version === '0.3' && operations[operation].streams;
    if (rpc.id === undefined) throw notification(operation, dialect, rpc.params);
    const call = callOfRequest(request, response, { caller, version, operation });
    using _stream = admitAnswer(service, request, caller, operation, permit);
    const result = await execute(service, operation, dialect, rpc.params, call);
    await sendResult(service, response, result, {
      meter,
      dialect,
      call,
      closing,
      mediaType: 'application/json',
      envelope: [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, '}'],
      empty: version === '1.0' ? '{}' : 'null',
      errorFrame: (error) => `data: ${errorText(error, id)}\n\n`,
      // Clients that send a version read artifacts and need no rewrite.
      ...(isRockbot &&
        stated === '' &&
        version === '1.0' &&
        answersWithTask.includes(operation) && { rewrite: new RockbotAnswers() }),
    });
  } catch (thrown) {
    if (thrown instanceof JsonRpcRequestError) ({ id } = thrown);
    const known = { caller, ...(what !== undefined && { what }) };
    const error = reportError(service, request, thrown, known);
    meter.error = error.code;
    const status = httpStatus(error);
    const text = errorText(error, id);
    const headers = errorHeaders(error);
    // Clients of 0.3 read every response to a streaming method as events (7.2.1).
    if (isLegacyStream && status === 200) sendEvent(response, text, headers);
    else sendJson(response, status, text, headers);
  }
}

/**
 * The error for a request without an id: every operation returns a result, so notifications are not
 * supported. Invalid parameters are reported first.
 */
function notification(operation: Operation, dialect: Dialect, params: unknown): LegateError {
  serviceOperations[operation].decode(dialect, params);
  return new LegateError('INVALID_REQUEST', 'id is required: notifications are not supported');
}

/** Requires that the version header matches the version of the called method. */
function checkMethodVersion(
  service: HttpService,
  stated: string,
  expected: ProtocolVersion | undefined,
): void {
  // Refuses unknown versions for every method.
  const version = negotiateVersion({ header: stated });
  if (expected === '0.3' && version !== expected) {
    throw new LegateError(
      'METHOD_NOT_FOUND',
      'this method belongs to A2A 0.3, but the request has A2A-Version 1.0',
    );
  }
  if (expected !== undefined) checkVersion(service, stated, { expected, what: 'method' });
}

/** Errors that are sent with their own HTTP status instead of 200, for proxies and retries. */
const transportErrors = new Set<string>([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'STORE_FAILED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_ENCODING',
  'REQUEST_TIMEOUT',
  'MESSAGE_IN_FLIGHT',
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
]);

function httpStatus({ code }: LegateError): number {
  return transportErrors.has(code) ? statusOf(code).http : 200;
}

function errorText(error: LegateError, id: JsonRpcId): string {
  const shown = toJsonRpcError(error);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(shown)}}`;
}
