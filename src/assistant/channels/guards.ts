import { isLoopbackHost } from '../../auth/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Store, StoreOptions } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { A2aServer } from '../project/model.ts';
import type { ApiAccess } from './api-access.ts';

/**
 * `SANIC_WORKERS` configures several workers in one server. Legate has none: it scales by replicas on
 * a shared store. With a durable store the setting is ignored; with the memory store each worker would
 * have its own tasks, so it is refused, as projects that set it expect.
 */
export function checkWorkers(
  environment: NodeJS.ProcessEnv,
  store: Store | StoreOptions,
  logger: Logger,
): void {
  const workers = Number(environment['SANIC_WORKERS'] ?? 1);
  if (!(workers > 1)) return;
  const type = 'type' in store ? store.type : 'given';
  if (type === 'memory') {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `SANIC_WORKERS=${workers} with a store in memory: each worker would have tasks of its own; ` +
        'set SANIC_WORKERS=1, or configure a durable store (store: {type: sqlite}, or postgres), with which ' +
        'there is no such limit [validation.a2a_server.incompatible_sanic_workers]',
    );
  }
  logger.info({ workers, store: type }, 'assistant.workers_not_needed');
}

interface Channels {
  readonly a2aServer: A2aServer | undefined;
  readonly hasRest: boolean;
  /** Undefined while the API is off. */
  readonly api: ApiAccess | undefined;
}

/** The server accepts remote connections only when every channel authenticates its clients. */
export function checkRemoteAccess(
  options: { readonly host?: string; readonly dangerouslyAllowUnauthenticatedRemote?: boolean },
  { a2aServer, hasRest, api }: Channels,
): void {
  const open = [
    ...(a2aServer !== undefined && a2aServer.auth === undefined
      ? ['A2A (set a2a_server.auth)']
      : []),
    ...(hasRest ? ['the REST channel (name other channels in credentials.yml)'] : []),
    ...(api?.isOpen === true ? ['the HTTP API (set --auth-token or --jwt-secret)'] : []),
  ];
  const { host = '127.0.0.1', dangerouslyAllowUnauthenticatedRemote = false } = options;
  if (open.length === 0 || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `refusing to listen on ${host} without authentication for ${open.join(', ')}: secure these, ` +
      'listen on 127.0.0.1, or allow it with --dangerously-allow-unauthenticated-remote ' +
      '(in code: dangerouslyAllowUnauthenticatedRemote)',
  );
}
