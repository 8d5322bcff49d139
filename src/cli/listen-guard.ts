import { isLoopbackHost } from '../auth/index.ts';
import { LegateError } from '../protocol/index.ts';

/** The flags of a command that listens. */
export interface ListenFlags {
  readonly interface: string;
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
}

/**
 * Refuses what `checkBind` would refuse, before anything starts, and names the flags of the command
 * line instead of the options in code.
 */
export function checkListenFlags(flags: ListenFlags, isAuthenticated: boolean): void {
  const { interface: host, dangerouslyAllowUnauthenticatedRemote = false } = flags;
  if (isAuthenticated || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `refusing to listen on ${host} without authentication: set --auth-token, listen on 127.0.0.1, ` +
      'or allow it with --dangerously-allow-unauthenticated-remote',
  );
}
