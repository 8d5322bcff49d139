/**
 * Whether the connection to a URL is https or stays on this machine, so that others on the network cannot
 * read it. Credentials are sent only to such URLs.
 * @example isEncryptedOrLocal(new URL('http://127.0.0.1:8000')) // true
 */
export function isEncryptedOrLocal({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
