import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Agent } from '../agents/index.ts';
import type { LegateError } from '../protocol/index.ts';
import type { Cards, PushService } from '../service/index.ts';
import type { Store } from '../store/index.ts';
import type { Engine } from '../tasks/index.ts';
import type { HttpService } from './options.ts';
import type { Drain } from './shut-down.ts';

/**
 * Endpoints beside A2A on the port of an agent: a chat webhook, an admin API, a page.
 * @example
 * const chat: Channel = {
 *   name: 'chat',
 *   mount(host) {
 *     host.route('POST', '/chat/{room}', async ({ request, response, params }) => {
 *       host.guard(request, response);
 *       response.end(await answer(host.engine, params['room'] ?? '', request));
 *     });
 *   },
 * };
 * await serve(agent, { channels: [chat] });
 */
export interface Channel {
  /** For errors and logs. */
  readonly name: string;
  /**
   * Called once, before the first request is served. The server disposes of the returned value when it
   * shuts down, before it drains turns. The channel then ends streams that do not end with a turn.
   */
  mount(host: ChannelHost): MountedChannel | Promise<MountedChannel>;
  /** Sends an error that a route of this channel threw. @default an A2A REST error */
  sendError?(response: ServerResponse, error: LegateError): void;
}

export type MountedChannel =
  | AsyncDisposable
  | Disposable
  /** A separate transport, drained in parallel with turns and within the same grace period. */
  | { readonly drain: Drain }
  | void;

/**
 * The server's side of a channel: the agent, its services and the registration of routes.
 * @example
 * const mount = (host: ChannelHost): void => {
 *   host.route('GET', '/about', ({ response }) => void response.end(host.agent.description));
 * };
 */
export interface ChannelHost {
  readonly agent: Agent;
  readonly engine: Engine;
  readonly store: Store;
  readonly cards: Cards;
  readonly push: PushService | undefined;
  /** Authentication, limits, audit and logger of the agent's A2A endpoints. */
  readonly service: HttpService;
  /** The agent's URL for callers, without a trailing slash. */
  readonly url: string;
  /** Aborts when turns have been drained. */
  readonly closing: AbortSignal;
  /**
   * Handles requests of one method, or of all (`*`), to a path. `{name}` in a path matches one segment,
   * a final `/*` matches everything below. GET routes answer HEAD too. Routes are matched in the order of
   * registration, before A2A's routes. A path that has routes answers other methods with 405, except `/`,
   * where `POST` is JSON-RPC.
   */
  readonly route: (method: string, path: string, handler: RouteHandler) => void;
  /**
   * Refuses cross-site requests of browsers: requests with an origin that is not in `cors`, and, on a
   * server that only this machine can reach, requests with an unknown host name (DNS rebinding).
   */
  readonly guard: (request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * One request to a route.
 * @example const roomOf = ({ params }: RouteCall): string => params['room'] ?? '';
 */
export interface RouteCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The path without its query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Path parameters by name, decoded. `*` is the part that the final `*` matched, not decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Answers requests to a route. It can throw a `LegateError`, which the server audits and sends.
 * @example const about: RouteHandler = ({ response }) => void response.end('A bakery.');
 */
export type RouteHandler = (call: RouteCall) => void | Promise<void>;
