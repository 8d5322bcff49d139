import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/**
 * What callers have to trust to reach a server with this certificate: the certificate itself where it is
 * self-signed, a placeholder where its authority is none of those that Node knows, undefined where they need
 * nothing. Undefined also for a file that can't be read: the server reports it when it starts.
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
