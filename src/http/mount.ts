import type { IncomingMessage, ServerResponse } from 'node:http';
import { toFetchHandler } from '../net/index.ts';
import type { Handler } from './handler.ts';

/**
 * The endpoints of an agent as servers and frameworks mount them: the function itself for `node:http`,
 * Express and Connect, `fetch` for frameworks with web requests, `fastify` for Fastify.
 * @example
 * const mount = (handler: MountableHandler) => ({ GET: handler.fetch, POST: handler.fetch });
 */
export interface MountableHandler extends Handler {
  /**
   * Answers a web request, for Hono, Next.js, Bun, Deno and others. Accepts requests below the path of
   * `url`, and requests from which the framework removed that path. Deno and Bun pass the caller's
   * address in `host`; without it, limits by network count all callers as one.
   */
  readonly fetch: (request: Request, host?: unknown) => Promise<Response>;
  /** A Fastify plugin: `app.register(handler.fastify, { prefix: '/agent' })`. */
  readonly fastify: (app: FastifyScope, options: unknown, done: () => void) => void;
}

/** The part of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  readonly prefix: string;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  all(path: string, handler: (request: FastifyCall, reply: FastifyReply) => void): unknown;
}

interface FastifyCall {
  readonly raw: IncomingMessage;
}

interface FastifyReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

export function mountable(handler: Handler, url = 'http://localhost'): MountableHandler {
  const basePath = URL.parse(url)?.pathname.replace(/\/+$/, '') ?? '';
  return Object.assign<Handler, Pick<MountableHandler, 'fetch' | 'fastify'>>(
    (request, response) => handler(request, response),
    {
      fetch: toFetchHandler(handler, { basePath }),
      fastify(app, _options, done) {
        // The handler reads bodies itself.
        app.removeAllContentTypeParsers();
        app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
        const answer = ({ raw }: FastifyCall, reply: FastifyReply): void => {
          reply.hijack();
          const rest = (raw.url ?? '/').slice(app.prefix.length);
          raw.url = rest.startsWith('/') ? rest : `/${rest}`;
          handler(raw, reply.raw);
        };
        app.all('/', answer);
        app.all('/*', answer);
        done();
      },
    },
  );
}
