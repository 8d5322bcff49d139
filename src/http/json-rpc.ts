import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Dialect,
  type JsonRpcId,
  JsonRpcRequestError,
  LegateError,
  operationOf,
  parseJson,
  parseJsonRpcRequest,
  type ProtocolVersion,
  toJsonRpcError,
  toLegateError,
  v03,
  v1,
} from '../protocol/index.ts';
import type { Caller } from '../agents/index.ts';
import type { Call } from '../tasks/index.ts';
import { describeRequest } from './audit.ts';
import { readBody } from './body.ts';
import { contextHints } from './context-hints.ts';
import { authenticate, enter, openStream } from './entrance.ts';
import { extensionHeaders } from './extension-headers.ts';
import { callOf } from './http-call.ts';
import { requireJson } from './media-type.ts';
import { execute, type OperationResult } from './operations.ts';
import { sendJson } from './respond.ts';
import { errorHeaders, jsonRpcStatus } from './statuses.ts';
import type { Service } from './service.ts';
import { sendEvents } from './sse.ts';
import { versionOf } from './version.ts';

const dialects = { '1.0': v1, '0.3': v03 } as const;

/** `POST /`: JSON-RPC in both versions. */
export async function handleJsonRpc(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
  closing: AbortSignal,
): Promise<void> {
  let id: JsonRpcId = null;
  let caller: Caller | undefined;
  let what: string | undefined;
  try {
    caller = await authenticate(service, request, response, query);
    using place = await enter(service, request, response, caller);
    requireJson(request);
    const text = await readBody(request, service.limits);
    const body = parseJson(text, { maxDepth: service.limits.maxJsonDepth });
    const rpc = parseJsonRpcRequest(body);
    ({ id } = rpc);
    what = rpc.method.slice(0, 100);
    // The name of the method tells the version.
    const method = operationOf(rpc.method);
    checkVersion(service, request, query, method?.version);
    if (method === undefined) {
      throw new LegateError('METHOD_NOT_FOUND', `there is no method ${what}`);
    }
    const dialect = dialects[method.version];
    const call = callOf(request, response, caller, dialect.version, method.operation);
    using _stream = openStream(service, request, caller, method.operation, place);
    const result = await execute(service, method.operation, dialect, rpc.params, call);
    await answer(service, response, { id, dialect, result, call, closing });
  } catch (thrown) {
    if (thrown instanceof JsonRpcRequestError) ({ id } = thrown);
    const error = toLegateError(thrown);
    service.audit.denied(error, {
      ...describeRequest(request),
      ...(what !== undefined && { what }),
      caller,
    });
    fail(service, response, error, id);
  }
}

/** The header must agree with the version whose method was called. */
function checkVersion(
  service: Service,
  request: IncomingMessage,
  query: URLSearchParams,
  expected: ProtocolVersion | undefined,
): void {
  const { version, isStated } = versionOf(request, query);
  if (expected === undefined || version === expected) return;
  if (expected === '0.3') {
    throw new LegateError(
      'METHOD_NOT_FOUND',
      'this method belongs to A2A 0.3, but the request says A2A-Version 1.0',
    );
  }
  if (service.isLenient && !isStated) return;
  throw new LegateError(
    'VERSION_NOT_SUPPORTED',
    'this method belongs to A2A 1.0: send the header A2A-Version: 1.0',
    { metadata: { supportedVersions: '1.0' } },
  );
}

async function answer(
  service: Service,
  response: ServerResponse,
  options: {
    id: JsonRpcId;
    dialect: Dialect;
    result: OperationResult;
    call: Call;
    closing: AbortSignal;
  },
): Promise<void> {
  const { id, dialect, result, call, closing } = options;
  const envelope = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  if (result.kind === 'stream') {
    return sendEvents(response, result.stream, {
      encode: (event) =>
        dialect.version === '1.0'
          ? `${envelope}${event.body.text}}`
          : `${envelope}${JSON.stringify(dialect.streamResponse.encode(event.body.value, event.isLast))}}`,
      encodeError: (error) => `data: ${errorText(error, id)}\n\n`,
      logger: service.logger,
      keepAliveMs: service.limits.keepAliveMs,
      extraHeaders: extensionHeaders(service, call),
      closing,
    });
  }
  const text = result.kind === 'json' ? result.text : dialect.version === '1.0' ? '{}' : 'null';
  const isPlain = !service.setsContextHints && call.extensions?.length === 0;
  sendJson(
    response,
    200,
    `${envelope}${text}}`,
    isPlain ? undefined : { ...contextHints(service, result), ...extensionHeaders(service, call) },
  );
}

/** JSON-RPC errors go out as HTTP 200, save those that HTTP clients must see for what they are. */
function fail(service: Service, response: ServerResponse, error: LegateError, id: JsonRpcId): void {
  if (error.code === 'INTERNAL')
    service.logger.error({ error: error.cause ?? error }, 'http.internal_error');
  sendJson(response, jsonRpcStatus(error), errorText(error, id), errorHeaders(error));
}

function errorText(error: LegateError, id: JsonRpcId): string {
  const shown = toJsonRpcError(error);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(shown)}}`;
}
