import { isLoopbackHost, openAuth } from '../../auth/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { A2aServer } from '../project/a2a-server.ts';
import type { Project } from '../project/load-project.ts';
import { ApiAccess, type ApiAccessOptions } from './api-access.ts';
import { readSenderAccess } from './sender-access.ts';

/** The options of `serveAssistant` that control access. */
interface AccessOptions {
  readonly places: { readonly directory: string };
  readonly host?: string;
  readonly tls?: { readonly ca?: string };
  readonly enableApi?: boolean;
  readonly api?: ApiAccessOptions;
  readonly dangerouslyAllowUnauthenticatedRemote?: boolean;
}

/** Opens access to the channels. Warns of unauthenticated channels beside an authenticated A2A server. */
export async function openAccess(
  { endpoints, credentials }: Project,
  options: AccessOptions,
  logger: Logger,
) {
  const { a2aServer, httpApi } = endpoints;
  const authenticator = await openAuth(a2aServer?.auth, {
    directory: options.places.directory,
    hasClientCertificates: a2aServer !== undefined && options.tls?.ca !== undefined,
    logger,
  });
  const isAuthenticated = a2aServer?.auth !== undefined;
  const access = openApiAccess(httpApi, isAuthenticated, options);
  const hasRest = credentials.size === 0 || credentials.has('rest');
  const hasApi = options.enableApi === true;
  const senders = hasRest ? readSenderAccess(credentials.get('rest'), isAuthenticated) : undefined;
  const isRestOpen = hasRest && senders === undefined;
  const api = hasApi ? access : undefined;
  checkRemoteAccess(options, { a2aServer, hasRest: isRestOpen, api });
  if (isAuthenticated) warnOfOpenChannels({ isRestOpen, isApiOpen: api?.isOpen === true }, logger);
  return { authenticator, access, hasRest, hasApi, senders };
}

function openApiAccess(
  httpApi: Project['endpoints']['httpApi'],
  isAuthenticated: boolean,
  { api, dangerouslyAllowUnauthenticatedRemote = false }: AccessOptions,
): ApiAccess {
  const usesCallers = httpApi?.auth === true;
  if (usesCallers && !isAuthenticated) {
    throw invalidConfiguration(
      'endpoints.yml: http_api.auth: true requires authentication; configure a2a_server.auth',
    );
  }
  return new ApiAccess(
    { ...api, ...(usesCallers && { callers: { admins: httpApi.admins } }) },
    dangerouslyAllowUnauthenticatedRemote,
  );
}

function warnOfOpenChannels(
  { isRestOpen, isApiOpen }: { readonly isRestOpen: boolean; readonly isApiOpen: boolean },
  logger: Logger,
): void {
  if (isRestOpen) {
    const fix =
      'write "rest: {auth: true}" in credentials.yml, or name other channels there to turn the REST channel off';
    logger.warn({ audit: 'action', channel: 'rest', fix }, 'assistant.channel_unauthenticated');
  }
  if (!isApiOpen) return;
  const fix = 'write "http_api: {auth: true, admins: [...]}" in endpoints.yml, or set --auth-token';
  logger.warn({ audit: 'action', channel: 'api', fix }, 'assistant.channel_unauthenticated');
}

interface Channels {
  readonly a2aServer: A2aServer | undefined;
  readonly hasRest: boolean;
  /** Undefined if the HTTP API is disabled. */
  readonly api: ApiAccess | undefined;
}

/** Rejects remote addresses unless every channel authenticates its clients. */
function checkRemoteAccess(options: AccessOptions, { a2aServer, hasRest, api }: Channels): void {
  const open = [
    ...(a2aServer !== undefined && a2aServer.auth === undefined
      ? ['A2A (set a2a_server.auth)']
      : []),
    ...(hasRest
      ? [
          'the REST channel (write rest: {auth: true} in credentials.yml, or name other channels there)',
        ]
      : []),
    ...(api?.isOpen === true ? ['the HTTP API (set --auth-token or --jwt-secret)'] : []),
  ];
  const { host = '127.0.0.1', dangerouslyAllowUnauthenticatedRemote = false } = options;
  if (open.length === 0 || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw invalidConfiguration(
    `refusing to listen on ${host} without authentication for ${open.join(', ')}: secure these, ` +
      'listen on 127.0.0.1, or allow it with --dangerously-allow-unauthenticated-remote ' +
      '(in code: dangerouslyAllowUnauthenticatedRemote)',
  );
}
