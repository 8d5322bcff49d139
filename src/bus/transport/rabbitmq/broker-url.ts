import { invalidConfiguration } from '../../../protocol/index.ts';

/** Parses the address of a broker. Its user, password and virtual host can be decoded. */
export function parseBrokerUrl(given: string): URL {
  const url = URL.parse(given);
  if (url === null || !['amqp:', 'amqps:'].includes(url.protocol)) {
    throw invalidConfiguration(
      'the address of the broker must be amqp://user:password@host:port/vhost, or amqps:',
    );
  }
  decodeUrlPart('user', url.username);
  decodeUrlPart('password', url.password);
  decodeUrlPart('virtual host', url.pathname);
  return url;
}

/** Decodes a part of an address. The error does not contain the part, which may be a secret. */
export function decodeUrlPart(what: string, encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalidConfiguration(
      `the ${what} in the address of the broker is not valid: percent-encode special characters, "%" as "%25" for instance`,
    );
  }
}
