import { invalidConfiguration, LegateError } from '../protocol/index.ts';
import type { Channel, RouteHandler } from './channel.ts';

interface Route {
  readonly channel: Channel;
  readonly method: string;
  readonly pattern: RegExp;
  readonly handler: RouteHandler;
  readonly isMetered: boolean;
}

export interface RouteMatch {
  readonly channel: Channel;
  /** Whether to count and time the request; false for a handler that does so itself. */
  readonly isMetered: boolean;
  /** Throws for segments that can't be decoded. */
  readonly params: () => Readonly<Record<string, string>>;
  /** Undefined when the path exists with other methods only. */
  readonly handler: RouteHandler | undefined;
  /** The methods of the path. */
  readonly allowed: readonly string[];
}

/** The routes of all channels of an agent. */
export class ChannelRoutes {
  readonly #routes: Route[] = [];

  add(channel: Channel, method: string, path: string, handler: RouteHandler): void {
    this.#routes.push({ channel, method, pattern: pathPattern(path), handler, isMetered: true });
  }

  /** Hands all requests to a path over to another handler, which counts and times them. */
  delegate(channel: Channel, path: string, handler: RouteHandler): void {
    const pattern = pathPattern(path);
    this.#routes.push({ channel, method: '*', pattern, handler, isMetered: false });
  }

  /** Undefined when no channel has the path. */
  match(method: string, path: string): RouteMatch | undefined {
    const fitting = this.#routes.filter(({ pattern }) => pattern.test(path));
    const wanted = method === 'HEAD' ? ['*', 'HEAD', 'GET'] : ['*', method];
    const found = fitting.find((each) => wanted.includes(each.method));
    const route = found ?? fitting[0];
    if (route === undefined) return undefined;
    const { channel, pattern, isMetered } = route;
    return {
      channel,
      isMetered,
      params: () => pathParams(pattern, path),
      handler: found?.handler,
      allowed: [...new Set(fitting.map((each) => each.method))],
    };
  }
}

const wellFormed = /^\/(?:[^{}*]|\{[a-z]\w*\})*(?:(?<=\/)\*)?$/i;

/**
 * Compiles a path to a regular expression. `{name}` matches one segment or a part of it, a final `/*`
 * matches everything below. The groups are the names and `rest`.
 */
export function pathPattern(path: string): RegExp {
  if (!wellFormed.test(path)) {
    throw invalidConfiguration(
      `${JSON.stringify(path)} is not a path of a route; write one like /chat/{room} or /chat/*`,
    );
  }
  const source = path
    .replace(/[.+?^$()|[\]\\]/g, String.raw`\$&`)
    .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
    .replace(/\*$/, '(?<rest>.*)');
  return new RegExp(`^${source}$`, 's');
}

/** The parameters of a path by the names in its pattern, decoded. `*` is the rest, not decoded. */
export function pathParams(pattern: RegExp, path: string): Readonly<Record<string, string>> {
  const { rest, ...segments } = pattern.exec(path)?.groups ?? {};
  const params: Record<string, string> = rest === undefined ? {} : { '*': rest };
  for (const [name, value] of Object.entries(segments)) {
    try {
      params[name] = decodeURIComponent(value);
    } catch (cause) {
      throw new LegateError('INVALID_PARAMS', `${name} in the path is not valid percent-encoding`, {
        cause,
        violations: [{ field: name, description: 'is not valid percent-encoding' }],
      });
    }
  }
  return params;
}
