import { resolve } from 'node:path';
import type { ServeOptions } from '../../http/index.ts';
import { Authenticator, jwtVerifier, mtlsVerifier, type Verifier } from '../../auth/index.ts';
import { sealedPolicy } from '../../push/index.ts';
import type { TlsFiles } from '../../service/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { A2aServer } from '../project/model.ts';

/** Translates `a2a_server:` of endpoints.yml to options of the A2A server. */
export async function a2aOptions(
  server: A2aServer,
  {
    directory,
    tls,
    logger,
  }: { readonly directory: string; readonly tls: TlsFiles | undefined; readonly logger: Logger },
): Promise<ServeOptions> {
  const { auth, pushNotificationAllowedHosts: allowedHosts } = server;
  // Configured certificate authorities mean that client certificates are required.
  const verifiers = [
    ...(auth === undefined ? [] : [await tokenVerifier(auth, directory)]),
    ...(tls?.ca === undefined ? [] : [mtlsVerifier()]),
  ];
  return {
    ...(server.url !== undefined && { url: server.url.replace(/\/+$/, '') }),
    taskTimeoutMs: server.taskTimeoutSeconds * 1000,
    messageCacheTtlMs: server.messageCacheTtlSeconds * 1000,
    maxContexts: server.maxContexts,
    // Orchestrators expect 409 for a message that is in flight, whether it streams or not.
    duplicateStreams: 'refuse',
    setsContextHints: true,
    ...(server.pushNotificationsEnabled && {
      push: {
        policy: allowedHosts === undefined ? sealedPolicy : { ...sealedPolicy, allowedHosts },
        resolveAtRegistration: true,
      },
    }),
    ...(verifiers.length > 0 && { auth: new Authenticator({ logger, verifiers }) }),
    ...(auth !== undefined && { protectsCard: true }),
  };
}

function tokenVerifier(auth: NonNullable<A2aServer['auth']>, directory: string): Promise<Verifier> {
  const { secret, publicKeyPath = '', algorithm, issuer, audience } = auth.jwt;
  return jwtVerifier({
    keys: secret === undefined ? { publicKeyFile: resolve(directory, publicKeyPath) } : { secret },
    algorithms: [algorithm],
    // The token identifies the orchestrator, also when it has no subject claim.
    defaultSubject: 'orchestrator',
    requireExpiry: false,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  });
}
