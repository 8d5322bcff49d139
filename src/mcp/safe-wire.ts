import { LegateError } from '../protocol/index.ts';

/** The address, if what is sent to it stays between us: https, or this machine. */
export function requireSafeWire(address: string, what: string): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new LegateError('CONFIGURATION_INVALID', `${what} must be an http or https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new LegateError('CONFIGURATION_INVALID', `${what} must not hold a user or password`);
  }
  if (url.protocol === 'https:' || isLoopback(url.hostname)) return url;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `${what}: credentials are not sent to ${url.origin}, where anybody on the way could read them: use https, or a loopback address`,
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
