import { LegateError, type TaskPushNotificationConfig } from '../protocol/index.ts';
import { outboundTimeouts } from './guarded-client.ts';
import { checkUrl, schemeOf, type UrlPolicy, UrlRefused } from './policy.ts';
import { resolveChecked, type Resolver, systemResolver } from './guarded-agent.ts';

export interface ValidatePushConfigOptions {
  /** The path of the configuration in the request, for the error. @default '' */
  readonly path?: string;
}

/** The `token` of RFC 9110: the name of an authentication scheme. */
const schemeName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** Printable ASCII: CR or LF would let a caller add headers to the call. */
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const maxSecretLength = 8_192;
const maxIdLength = 256;

/**
 * Validates a push configuration at registration: its destination, headers and credentials. Throws
 * `INVALID_PARAMS`. Names are resolved when connecting, not here.
 * @example validatePushConfig({ url: 'https://example.com/hook' }, publicPolicy)
 */
export function validatePushConfig(
  config: TaskPushNotificationConfig,
  policy: UrlPolicy,
  options: ValidatePushConfigOptions = {},
): void {
  const path = options.path === undefined || options.path === '' ? '' : `${options.path}.`;
  const refuse = (field: string, description: string): never => {
    const at = `${path}${field}`;
    throw new LegateError('INVALID_PARAMS', `${at}: ${description}`, {
      violations: [{ field: at, description }],
    });
  };
  checkUrl(config.url, policy, { field: `${path}url` });
  const { id, token, authentication } = config;
  if (id !== undefined && (id.length > maxIdLength || /\p{Cc}/u.test(id))) {
    refuse('id', `must be at most ${maxIdLength} characters without control characters`);
  }
  if (token !== undefined && token !== '' && !isSendable(token)) refuse('token', secretRule);
  if (authentication === undefined) return;
  if (!schemeName.test(authentication.scheme)) {
    refuse('authentication.scheme', 'must be the name of an HTTP authentication scheme');
  }
  const { credentials } = authentication;
  if (credentials !== undefined && credentials !== '' && !isSendable(credentials)) {
    refuse('authentication.credentials', secretRule);
  }
}

/**
 * Resolves the host of a configuration and checks its addresses, to report mistakes early. The check at
 * connect time is the protection, because DNS can change.
 * @example await checkPushAddress(config, { policy: publicPolicy });
 */
export async function checkPushAddress(
  config: TaskPushNotificationConfig,
  options: {
    readonly policy: UrlPolicy;
    readonly resolver?: Resolver | undefined;
    /** Milliseconds. @default 5_000 */
    readonly dnsTimeout?: number | undefined;
  },
): Promise<void> {
  const { policy, resolver = systemResolver, dnsTimeout = outboundTimeouts.dns } = options;
  const url = checkUrl(config.url, policy);
  try {
    const scheme = schemeOf(url);
    const code = 'INVALID_PARAMS';
    await resolveChecked(url.hostname, { scheme, policy, resolver, dnsTimeout, code });
  } catch (error) {
    if (error instanceof UrlRefused) throw error;
    throw new UrlRefused('INVALID_PARAMS', 'url', `host ${url.hostname} cannot be looked up`);
  }
}

const secretRule = `must be at most ${maxSecretLength} characters of printable ASCII`;

function isSendable(secret: string): boolean {
  return secret.length <= maxSecretLength && headerValue.test(secret);
}

/** The trace headers of the request that registered a configuration; they are stored with it. */
export function traceOf(config: object): Readonly<Record<string, string>> {
  const { traceparent, tracestate }: { traceparent?: unknown; tracestate?: unknown } = config;
  if (typeof traceparent !== 'string') return {};
  return typeof tracestate === 'string' ? { traceparent, tracestate } : { traceparent };
}

/**
 * A push configuration without its credentials, for display.
 * @example response.end(JSON.stringify(redactPushConfig(config)));
 */
export function redactPushConfig(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const stored: TaskPushNotificationConfig & { traceparent?: unknown; tracestate?: unknown } =
    config;
  const { token: _token, authentication, traceparent: _, tracestate: _state, ...rest } = stored;
  if (authentication === undefined) return rest;
  return { ...rest, authentication: { scheme: authentication.scheme } };
}
