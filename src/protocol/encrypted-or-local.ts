/**
 * Whether nobody on the network can read what is sent to a URL: it is https, or leads to this machine.
 * Credentials go nowhere else.
 * @example isEncryptedOrLocal(new URL('http://127.0.0.1:8000')) // true
 */
export function isEncryptedOrLocal({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
