import { LegateError } from '../protocol/index.ts';

/**
 * Throws where a collector must not be told what it would be told: an address that is none, one with
 * a password in it, or credentials over a wire that others can read.
 */
export function checkEndpoint(
  endpoint: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw invalid('must be an http or https URL without a user, such as http://localhost:4318');
  }
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !isLocal && Object.keys(headers).length > 0) {
    throw invalid(`headers are not sent to ${url.origin} over plain http; use https`);
  }
}

function invalid(what: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', `otlp.endpoint: ${what}`);
}
