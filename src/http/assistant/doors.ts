import type { IncomingMessage, ServerResponse } from 'node:http';
import { LegateError, toLegateError } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { AuditLog, describeRequest } from '../audit.ts';
import { refuseForeignNames, refuseForeignPages } from '../browser-guard.ts';
import type { HandlerOptions } from '../handler.ts';
import { sendJson } from '../respond.ts';
import { type ApiOptions, handleApi, isApiPath } from './api.ts';
import { sendFailure } from './api-failure.ts';
import type { Conversations } from './conversations.ts';
import { handleRestChannel } from './rest-channel.ts';

export interface DoorOptions extends Omit<ApiOptions, 'conversations'> {
  readonly hasRest: boolean;
  readonly hasApi: boolean;
  readonly hasA2a: boolean;
  /** Origins of web pages that may call. */
  readonly cors: readonly string[];
  /** By which names callers may know us; undefined where nobody but the named can reach us. */
  readonly names: readonly string[] | undefined;
  readonly logger: Logger;
}

export interface Doors {
  readonly handle: NonNullable<HandlerOptions['before']>;
  /** From now on requests are served. */
  open(conversations: Conversations): void;
}

const channel = '/webhooks/rest';

/** Every path of an assistant that is not A2A. What none of them takes goes on to A2A. */
export function createDoors(options: DoorOptions): Doors {
  let conversations: Conversations | undefined;
  const audit = new AuditLog(options.logger);
  const refuseBrowsers = (request: IncomingMessage, response: ServerResponse): void => {
    refuseForeignPages(request, response, options.cors);
    if (options.names !== undefined) refuseForeignNames(request, options.names);
  };
  const serve = async (
    talks: Conversations,
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<boolean> => {
    if (path === '/' && (request.method === 'GET' || request.method === 'HEAD')) {
      response
        .writeHead(200, { 'content-type': 'text/plain' })
        .end(`Hello from Legate: ${options.version}\n`);
      return true;
    }
    if (options.hasRest && path.startsWith(channel)) {
      if (path === channel || path === `${channel}/`) sendJson(response, 200, '{"status":"ok"}');
      else if (path !== `${channel}/webhook`) throw nothingAt(path);
      else {
        refuseBrowsers(request, response);
        await handleRestChannel(talks, options.limits, request, response, query);
      }
      return true;
    }
    if (!options.hasApi || !isApiPath(path)) return false;
    refuseBrowsers(request, response);
    return handleApi({ ...options, conversations: talks }, request, response, path, query);
  };
  return {
    open(opened) {
      conversations = opened;
    },
    async handle(request, response, path, query) {
      if (conversations === undefined) return false;
      try {
        if (await serve(conversations, request, response, path, query)) return true;
        if (!options.hasA2a && path !== '/health' && path !== '/ready') throw nothingAt(path);
        return false;
      } catch (thrown) {
        const error = toLegateError(thrown);
        audit.denied(error, describeRequest(request));
        sendFailure(response, error, options);
        return true;
      }
    },
  };
}

function nothingAt(path: string): LegateError {
  return new LegateError('ROUTE_NOT_FOUND', `there is nothing at ${path.slice(0, 200)}`);
}
