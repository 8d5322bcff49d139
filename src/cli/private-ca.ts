import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/**
 * The certificate file that callers of a server with this certificate must trust: the certificate itself if
 * it is self-signed, a placeholder if its authority is not in Node's list, else undefined. Also undefined for
 * an unreadable file, which the server reports when it starts.
 */
export function privateAuthority(certificate: string | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  try {
    const blocks = readFileSync(certificate, 'utf8').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    );
    const last = new X509Certificate(blocks?.at(-1) ?? '');
    const roots = rootCertificates.map((root) => new X509Certificate(root));
    if (roots.some((root) => last.checkIssued(root) && last.verify(root.publicKey)))
      return undefined;
    const isSelfSigned = last.checkIssued(last) && last.verify(last.publicKey);
    return isSelfSigned ? certificate : 'ca.pem';
  } catch {
    return undefined;
  }
}
