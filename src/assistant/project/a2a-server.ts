import type { Section } from '../../config/index.ts';
import { jwtAlgorithms } from '../../auth/index.ts';
import { readUrl } from './readers.ts';

/** `a2a_server:` with all its keys and their defaults. */
export function readA2aServer(section: Section) {
  const seconds = { minimum: 0, isInteger: true };
  const taskTimeoutSeconds = section.number('task_timeout_seconds', seconds) ?? 600;
  const hosts = section.get('push_notification_allowed_hosts');
  const server = {
    description: section.require('description', 'say what the agent is for')?.name() ?? '',
    /** The public URL; undefined to infer it from the address listened on. */
    url: readUrl(section.get('url')),
    agentCardPath: section.name('agent_card_path'),
    includeConversationRepair: section.boolean('include_conversation_repair') ?? true,
    /** 0 for no timeout. */
    taskTimeoutSeconds,
    /** 0 for no replay. */
    messageCacheTtlSeconds:
      section.number('a2a_message_cache_ttl_seconds', seconds) ?? taskTimeoutSeconds,
    /** 0 for no limit. */
    maxContexts: section.number('max_contexts', seconds) ?? 1000,
    pushNotificationsEnabled: section.boolean('push_notifications_enabled') ?? false,
    pushNotificationAllowedHosts:
      hosts && section.names('push_notification_allowed_hosts').map((host) => host.toLowerCase()),
    auth: section.mapping('auth', readAuth),
  };
  refuseTls(section);
  return server;
}

/** The assistant as an A2A agent. */
export type A2aServer = ReturnType<typeof readA2aServer>;

/** A deprecated block: TLS belongs to the port, which the agent shares with other channels. */
export function refuseTls(section: Section): void {
  section.get('tls')?.keyError('"tls" does not belong here', {
    hint: 'all routes share one port: use --ssl-certificate and --ssl-keyfile',
  });
}

function readAuth(section: Section) {
  section.require('type', 'write bearer')?.oneOf(['bearer']);
  section.require('jwt');
  // Without a key no token could be verified: a missing key is an error, never anonymous access.
  const unusable = { algorithm: 'RS256', publicKeyPath: undefined, secret: undefined } as const;
  const jwt = section.mapping('jwt', readJwt);
  return { jwt: jwt ?? { ...unusable, issuer: undefined, audience: undefined } };
}

function readJwt(jwt: Section) {
  const written = jwt.get('algorithm');
  const known = written?.oneOf(jwtAlgorithms);
  // An algorithm that is not known still says which kind of key belongs to it.
  const name = typeof written?.value === 'string' ? written.value : 'RS256';
  const isSymmetric = name.toUpperCase().startsWith('HS');
  const algorithm = known ?? (isSymmetric ? 'HS256' : 'RS256');
  const secret = jwt.get('secret');
  const key = jwt.get('public_key_path');
  if (isSymmetric) {
    jwt.require('secret', 'write "${JWT_SECRET}"');
    key?.keyError(`${name} is verified with a secret, not with a public key`);
  } else {
    jwt.require('public_key_path', 'name a PEM file with the public key');
    secret?.keyError(`${name} is verified with a public key, not with a secret`);
  }
  return {
    algorithm,
    publicKeyPath: key?.name(),
    secret: secret?.secret(),
    issuer: jwt.name('issuer'),
    audience: jwt.name('audience'),
  };
}
