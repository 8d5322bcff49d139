import { LegateError } from '../protocol/index.ts';
import { isLoopbackHost } from './local.ts';

/**
 * Where a server wants to listen.
 * @example const options: BindOptions = { host: '0.0.0.0', isAuthenticated: !auth.isOpen };
 */
export interface BindOptions {
  /** What the server is told to listen on; unset listens on every address. */
  readonly host?: string;
  /** Whether callers must prove who they are. */
  readonly isAuthenticated: boolean;
  /** Lets anybody who can reach the address use the agents. @default false */
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
}

/**
 * Refuses to listen where others can reach without asking them who they are. Only addresses of this
 * machine alone pass; a name other than `localhost` could mean anything.
 * @example checkBind({ host: '127.0.0.1', isAuthenticated: false });
 */
export function checkBind(options: BindOptions): void {
  const { host, isAuthenticated, dangerouslyAllowUnauthenticatedRemote = false } = options;
  if (isAuthenticated || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `refusing to listen on ${host === undefined || host === '' ? 'every address' : host} without ` +
      'authentication: configure auth, listen on 127.0.0.1, or set ' +
      'dangerouslyAllowUnauthenticatedRemote',
  );
}
