import type { Section } from '../../config/index.ts';
import { readUrl } from './readers.ts';
import { type A2aServer, jwtAlgorithms } from './model.ts';

/** `a2a_server:` with all its keys and their defaults. */
export function readA2aServer(section: Section): A2aServer {
  const seconds = { minimum: 0, isInteger: true };
  const taskTimeoutSeconds = section.number('task_timeout_seconds', seconds) ?? 600;
  const hosts = section.get('push_notification_allowed_hosts');
  const server: A2aServer = {
    description: section.require('description', 'say what the agent is for')?.name() ?? '',
    url: readUrl(section.get('url')),
    agentCardPath: section.name('agent_card_path'),
    includeConversationRepair: section.boolean('include_conversation_repair') ?? true,
    taskTimeoutSeconds,
    messageCacheTtlSeconds:
      section.number('a2a_message_cache_ttl_seconds', seconds) ?? taskTimeoutSeconds,
    maxContexts: section.number('max_contexts', seconds) ?? 1000,
    pushNotificationsEnabled: section.boolean('push_notifications_enabled') ?? false,
    pushNotificationAllowedHosts:
      hosts && section.names('push_notification_allowed_hosts').map((host) => host.toLowerCase()),
    auth: readAuth(section.section('auth')),
  };
  refuseTls(section);
  section.finish();
  return server;
}

/** A block of former times: certificates belong to the port, which the agent shares with others. */
export function refuseTls(section: Section): void {
  section.get('tls')?.keyError('"tls" does not belong here', {
    hint: 'all routes share one port: use --ssl-certificate and --ssl-keyfile',
  });
}

function readAuth(section: Section | undefined): A2aServer['auth'] {
  if (section === undefined) return undefined;
  section.require('type', 'write bearer')?.oneOf(['bearer']);
  const jwt = section.require('jwt')?.section();
  section.finish();
  // Without a key nothing could be verified, so what is missing is an error and never an open door.
  const algorithm = jwt?.get('algorithm')?.oneOf(jwtAlgorithms) ?? 'RS256';
  const isSymmetric = algorithm.startsWith('HS');
  const secretField = jwt?.get('secret');
  const keyField = jwt?.get('public_key_path');
  if (jwt !== undefined && isSymmetric) jwt.require('secret', 'write "${JWT_SECRET}"');
  if (jwt !== undefined && !isSymmetric) {
    jwt.require('public_key_path', 'name a PEM file with the public key');
    secretField?.keyError(`${algorithm} is verified with a public key, not with a secret`);
  } else keyField?.keyError(`${algorithm} is verified with a secret, not with a public key`);
  const result = {
    algorithm,
    publicKeyPath: keyField?.name(),
    secret: secretField?.secret(),
    issuer: jwt?.name('issuer'),
    audience: jwt?.name('audience'),
  };
  jwt?.finish();
  return { type: 'bearer', jwt: result };
}
