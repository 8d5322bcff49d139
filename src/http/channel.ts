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
   * Called once, before the first request is served. What it returns is disposed of when the server
   * shuts down, before turns are drained: a channel then ends streams that do not end with a turn.
   */
  mount(host: ChannelHost): MountedChannel | Promise<MountedChannel>;
  /** Sends an error that a route of this channel has thrown. @default the form of A2A over REST */
  sendError?(response: ServerResponse, error: LegateError): void;
}

export type MountedChannel =
  | AsyncDisposable
  | Disposable
  /** A transport of its own: drained beside turns, with the grace that they have. */
  | { readonly drain: Drain }
  | void;

/**
 * What a channel is given to serve its agent.
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
  /** Where callers reach the agent, without a slash at the end. */
  readonly url: string;
  /** Aborts when turns have been drained. */
  readonly closing: AbortSignal;
  /**
   * Handles requests of one method, or of all (`*`), to a path. `{name}` in a path stands for one
   * segment, a final `/*` for everything below. GET routes answer HEAD too. Routes are matched before
   * A2A's own, in the order of registration; a path that has routes answers other methods with 405,
   * except `/`, where `POST` is JSON-RPC.
   */
  readonly route: (method: string, path: string, handler: RouteHandler) => void;
  /**
   * Refuses requests that a foreign web page makes a browser send: those of origins not in `cors`,
   * and, on a server of this machine, those that call it by a foreign name (DNS rebinding).
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
  /** Segments by their names, decoded; `*` is what the final `*` stands for, as it was sent. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Answers requests to a route. May throw a `LegateError`, which is audited and sent.
 * @example const about: RouteHandler = ({ response }) => void response.end('A bakery.');
 */
export type RouteHandler = (call: RouteCall) => void | Promise<void>;
