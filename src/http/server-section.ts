import { type AuthSettings, readAuthSection } from '../auth/index.ts';
import { present, readUrl, type Section } from '../config/index.ts';
import { type PushSettings, rotatingSigner, publicPolicy, signingKeyFiles } from '../push/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { RouterOptions } from './options.ts';

/** The keys of `a2a_server:` for every served agent. Undefined for absent keys. */
export interface ServerSettings {
  /** The public URL; undefined to infer it from the address listened on. */
  readonly url: string | undefined;
  /** 0 for no timeout. */
  readonly taskTimeoutSeconds: number | undefined;
  /** 0 for no replay. */
  readonly messageCacheTtlSeconds: number | undefined;
  /** 0 for no limit. */
  readonly maxContexts: number | undefined;
  readonly pushNotificationsEnabled: boolean | undefined;
  readonly pushNotificationAllowedHosts: readonly string[] | undefined;
  readonly auth: AuthSettings | undefined;
  /** Files of private keys; each signs the card. */
  readonly cardSigningKeys: readonly string[];
}

/** Reads `a2a_server:`; reports problems with their positions. */
export function readServerSection(section: Section): ServerSettings {
  const seconds = { minimum: 0, isInteger: true };
  const hosts = section.get('push_notification_allowed_hosts');
  const settings = {
    url: readUrl(section.get('url')),
    taskTimeoutSeconds: section.number('task_timeout_seconds', seconds),
    messageCacheTtlSeconds: section.number('a2a_message_cache_ttl_seconds', seconds),
    maxContexts: section.number('max_contexts', seconds),
    pushNotificationsEnabled: section.boolean('push_notifications_enabled'),
    pushNotificationAllowedHosts:
      hosts && section.names('push_notification_allowed_hosts').map((host) => host.toLowerCase()),
    auth: section.mapping('auth', readAuthSection),
    cardSigningKeys: (section.get('card_signing_key')?.oneOrMore() ?? []).flatMap(
      (field) => field.name() ?? [],
    ),
  };
  refuseTls(section);
  return settings;
}

/** Reports a deprecated `tls` block: TLS belongs to the port, which the agent shares with other channels. */
export function refuseTls(section: Section): void {
  section.get('tls')?.keyError('"tls" does not belong here', {
    hint: 'all routes share one port: use --ssl-certificate and --ssl-keyfile',
  });
}

/** Translates `a2a_server:` and `push:` of endpoints.yml to options, except `auth`. */
export function serverOptionsOf(
  settings: ServerSettings | undefined,
  {
    push,
    directory,
    logger,
  }: {
    /** `push:` of endpoints.yml, which enables webhooks unless `a2a_server` disables them. */
    readonly push: PushSettings | undefined;
    /** The base of relative paths. */
    readonly directory: string;
    readonly logger: Logger;
  },
): Pick<
  RouterOptions,
  'url' | 'taskTimeoutMs' | 'messageCacheTtlMs' | 'maxContexts' | 'push' | 'cardKeys'
> {
  const { url, taskTimeoutSeconds, messageCacheTtlSeconds, maxContexts } = settings ?? {};
  const { cardSigningKeys = [], pushNotificationsEnabled = push !== undefined } = settings ?? {};
  const files = { directory, logger };
  const hosts = push?.policy.allowedHosts ?? settings?.pushNotificationAllowedHosts;
  const { signingKeys = [] } = push ?? {};
  return {
    ...present({
      url: url?.replace(/\/+$/, ''),
      taskTimeoutMs: taskTimeoutSeconds && taskTimeoutSeconds * 1000,
      messageCacheTtlMs: messageCacheTtlSeconds && messageCacheTtlSeconds * 1000,
      maxContexts,
    }),
    ...(pushNotificationsEnabled && {
      push: {
        policy: { ...(push?.policy ?? publicPolicy), ...present({ allowedHosts: hosts }) },
        resolveAtRegistration: true,
        ...(signingKeys.length > 0 && {
          signer: rotatingSigner(
            signingKeyFiles(signingKeys, { ...files, what: 'push.signing_key' }),
          ),
        }),
      },
    }),
    ...(cardSigningKeys.length > 0 && {
      cardKeys: signingKeyFiles(cardSigningKeys, {
        ...files,
        what: 'a2a_server.card_signing_key',
      }),
    }),
  };
}
