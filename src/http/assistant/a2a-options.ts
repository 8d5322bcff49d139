import { resolve } from 'node:path';
import type { A2aServer } from '../../assistant/index.ts';
import { Authenticator, jwtVerifier } from '../../auth/index.ts';
import { sealedPolicy } from '../../push/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { ServeOptions } from '../serve.ts';

/** What `a2a_server:` says, in the words of the server. */
export async function a2aOptions(
  server: A2aServer,
  directory: string,
  logger: Logger,
): Promise<ServeOptions> {
  const { auth, pushNotificationAllowedHosts: allowedHosts } = server;
  return {
    ...(server.url !== undefined && { url: server.url.replace(/\/+$/, '') }),
    taskTimeoutMs: server.taskTimeoutSeconds * 1000,
    messageCacheTtlMs: server.messageCacheTtlSeconds * 1000,
    maxContexts: server.maxContexts,
    setsContextHints: true,
    ...(server.pushNotificationsEnabled && {
      push: {
        policy: allowedHosts === undefined ? sealedPolicy : { ...sealedPolicy, allowedHosts },
        resolveAtRegistration: true,
      },
    }),
    ...(auth !== undefined && {
      auth: await authenticator(auth, directory, logger),
      protectsCard: true,
    }),
  };
}

async function authenticator(
  auth: NonNullable<A2aServer['auth']>,
  directory: string,
  logger: Logger,
): Promise<Authenticator> {
  const { secret, publicKeyPath = '', algorithm, issuer, audience } = auth.jwt;
  return new Authenticator({
    logger,
    verifiers: [
      await jwtVerifier({
        keys:
          secret === undefined ? { publicKeyFile: resolve(directory, publicKeyPath) } : { secret },
        algorithms: [algorithm],
        // The token speaks for the orchestrator: one that names no subject is still one.
        defaultSubject: 'orchestrator',
        requireExpiry: false,
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      }),
    ],
  });
}
