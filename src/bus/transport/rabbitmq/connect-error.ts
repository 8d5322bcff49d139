import { errorMessage, invalidConfiguration, LegateError } from '../../../protocol/index.ts';
import type { ServerProperties } from './handshake.ts';
import { codeOf } from './topology.ts';

/** Why Node does not trust a certificate. */
const untrusted: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN: 'its issuer is unknown; set ca to the file of the issuing authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed; set ca to the file of this certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its issuer is unknown; set ca to the file of the issuing authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its issuer is unknown; set ca to the file of the issuing authority',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet; check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name; use the name in the certificate',
};

/** Errors that further attempts can't resolve. */
export function isPermanent(error: unknown): boolean {
  return error instanceof LegateError && error.code === 'CONFIGURATION_INVALID';
}

/** Codes of sockets and of the library for a connection that was lost, and is being reopened. */
const lost =
  /^(?:E[A-Z_]+|CH_CLOSE|CLOSED|CLOSING|CONN_CLOSE|CONNECTION_FORCED|CONNECTION_TIMEOUT|READ_END|SOCKET_TIMEOUT|TIMEOUT)$/;

/** `UNAVAILABLE` for a connection that was lost; all other errors as they are. */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof LegateError || !lost.test(codeOf(error) ?? '')) return error;
  return new LegateError(
    'UNAVAILABLE',
    `the connection to the message broker was lost: ${broken(errorMessage(error))}`,
    { cause: error, retryAfter: 5 },
  );
}

/** Why there is no connection, and what to change. Never names the password. */
export function connectError(
  cause: unknown,
  {
    where,
    url,
    auth,
    server,
  }: {
    readonly where: string;
    readonly url: URL;
    readonly auth: 'plain' | 'external' | undefined;
    readonly server: ServerProperties | undefined;
  },
): LegateError {
  const code = codeOf(cause) ?? '';
  const text = errorMessage(cause);
  const invalid = (what: string): LegateError =>
    invalidConfiguration(`the message broker at ${where} ${what}`, cause);
  if (code === 'ACCESS_REFUSED' && auth === 'external') {
    return invalid(
      'refused the certificate: no user has its name, or the broker takes the name from another field (ssl_cert_login_from)',
    );
  }
  if (code === 'ACCESS_REFUSED') {
    const user = decodeURIComponent(url.username);
    const hint = user === 'guest' ? '; the user guest may log in from the same machine only' : '';
    return invalid(
      `refused the user ${JSON.stringify(user)}: check the user name and password${hint}`,
    );
  }
  if (code === 'NOT_ALLOWED') {
    return invalid(
      `refused the virtual host (${broken(text)}): create it, or grant access with "rabbitmqctl set_permissions -p <vhost> <user> <configure> <write> <read>"`,
    );
  }
  const distrust = untrusted[code];
  if (distrust !== undefined)
    return invalid(`has a certificate that is not trusted (${code}): ${distrust}`);
  if (/alert.(?:certificate.required|bad.certificate|unknown.ca|handshake.failure)/i.test(text)) {
    return invalid('refused our certificate: set cert and key to one that it trusts');
  }
  if (/wrong.version.number|packet.length.too.long/i.test(`${code} ${text}`)) {
    return invalid('does not use TLS on this port: use amqp:, or the port for TLS (5671)');
  }
  if (auth === 'external' && server !== undefined) {
    return invalid(
      'closed the connection after EXTERNAL authentication: enable the plugin rabbitmq_auth_mechanism_ssl and add EXTERNAL to auth_mechanisms',
    );
  }
  return new LegateError(
    'UNAVAILABLE',
    `the message broker at ${where} cannot be reached: ${reasonOf(code, text)}`,
    { cause },
  );
}

function reasonOf(code: string, text: string): string {
  if (code === 'ECONNREFUSED') return 'nothing listens there; start it, or check host and port';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name is unknown';
  if (code === 'ETIMEDOUT' || code === 'CONNECTION_TIMEOUT') return 'it does not answer';
  if (code === 'CONN_CLOSE' || code === 'ECONNRESET' || text.includes('does not speak AMQP')) {
    return 'it does not speak AMQP 0-9-1; if the port is for TLS, use amqps:';
  }
  return broken(text);
}

/** The text of the broker on one line, without the prefix of the library. */
function broken(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replace(/^Connection\w+: /, '')
    .slice(0, 200);
}
