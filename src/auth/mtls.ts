import type { PeerCertificate } from 'node:tls';
import { checkOptions, type OptionNames } from '../protocol/index.ts';
import {
  type AuthRequest,
  CredentialRefused,
  type Identity,
  isSubject,
  toCaller,
  type Verifier,
} from './credentials.ts';

/**
 * A client certificate that the TLS layer has verified against the configured authorities.
 * @example
 * function isPartner(peer: TlsPeer): boolean {
 *   return peer.alternativeNames.includes('URI:spiffe://partner.example/agent');
 * }
 */
export interface TlsPeer {
  readonly commonName?: string;
  /** As in the certificate: `DNS:a.example.com`, `URI:spiffe://...`. */
  readonly alternativeNames: readonly string[];
  /** SHA-256 of the certificate, upper-case hexadecimal with colons. */
  readonly fingerprint: string;
  /** Milliseconds since 1970. */
  readonly validTo: number;
}

/** The server side of a TLS connection. */
interface TlsConnection {
  readonly authorized: boolean;
  getPeerCertificate(): Partial<PeerCertificate>;
}

/**
 * What authentication needs of a connection: the verified client certificate, or why the presented one is
 * not trusted.
 * @example const caller = await auth.authenticate({ headers: authHeaders(request), ...tlsFacts(socket) });
 */
export function tlsFacts(
  socket: TlsConnection & { readonly authorizationError?: Error | string | null },
): Pick<AuthRequest, 'tlsPeer' | 'tlsRefusal'> {
  const peer = tlsPeer(socket);
  if (peer !== undefined) return { tlsPeer: peer };
  if (socket.getPeerCertificate().fingerprint256 === undefined) return {};
  // A string at run time, although it is typed as an Error.
  return { tlsRefusal: String(socket.authorizationError ?? 'not verified') };
}

/**
 * The verified client certificate of a connection; undefined without one.
 * @example const peer = tlsPeer(request.socket);
 */
export function tlsPeer(socket: TlsConnection): TlsPeer | undefined {
  if (!socket.authorized) return undefined;
  const certificate = socket.getPeerCertificate();
  if (certificate.fingerprint256 === undefined) return undefined;
  const commonName: unknown = certificate.subject?.CN;
  return {
    // Several common names are a list. None of them is preferred, so the peer has no common name.
    ...(typeof commonName === 'string' && { commonName }),
    alternativeNames: splitAlternativeNames(certificate.subjectaltname ?? ''),
    fingerprint: certificate.fingerprint256,
    validTo: Date.parse(certificate.valid_to ?? ''),
  };
}

/**
 * Splits `DNS:a, URI:b`. A name that contains a separator is quoted as a JSON string, so that it can't be
 * read as two names.
 */
export function splitAlternativeNames(text: string): readonly string[] {
  const names: string[] = [];
  const entry = /(?<kind>[A-Za-z ]+):(?:(?<quoted>"(?:[^"\\]|\\.)*")|(?<plain>[^,"]*))(?:, |$)/gy;
  for (let match = entry.exec(text); match !== null; match = entry.exec(text)) {
    const { kind, quoted, plain } = match.groups ?? {};
    names.push(`${kind}:${quoted === undefined ? plain : String(JSON.parse(quoted))}`);
    if (entry.lastIndex >= text.length) break;
  }
  return names;
}

/**
 * How client certificates are mapped to identities.
 * @example
 * const options: MtlsOptions = {
 *   identify: ({ commonName }) =>
 *     commonName === 'billing' ? { subject: commonName, scopes: ['orders:read'] } : undefined,
 * };
 */
export interface MtlsOptions {
  /**
   * Maps a certificate to an identity; undefined rejects it.
   * @default its only URI name, or its common name
   */
  readonly identify?: (peer: TlsPeer) => Identity | undefined;
  /** @default the system's clock */
  readonly clock?: { now(): number };
  /** Name of the security scheme in the card. @default 'mtls' */
  readonly schemeName?: string;
}

const optionNames: OptionNames<MtlsOptions> = {
  identify: 'function',
  clock: 'object',
  schemeName: 'string',
};

/**
 * Accepts client certificates. The TLS server must request and verify them; this verifier only maps them
 * to identities.
 * @example mtlsVerifier({ identify: (peer) => partners.get(peer.fingerprint) })
 */
export function mtlsVerifier(options: MtlsOptions = {}): Verifier {
  checkOptions('mtlsVerifier', options, optionNames);
  const { identify = identifyByName, clock = { now: Date.now }, schemeName = 'mtls' } = options;
  return {
    method: 'mtls',
    challenge: 'MutualTLS',
    schemes: { [schemeName]: { mtlsSecurityScheme: {} } },
    async verify({ tlsPeer: peer, tlsRefusal }) {
      if (tlsRefusal !== undefined) throw new CredentialRefused(`certificate ${tlsRefusal}`);
      if (peer === undefined) return undefined;
      // A connection can outlive the certificate that opened it.
      if (!(peer.validTo > clock.now())) throw new CredentialRefused('certificate expired');
      const identity = identify(peer);
      if (identity === undefined || !isSubject(identity.subject)) {
        throw new CredentialRefused('unknown certificate');
      }
      return toCaller('mtls', identity);
    },
  };
}

function identifyByName(peer: TlsPeer): Identity | undefined {
  const uris = peer.alternativeNames.filter((name) => name.startsWith('URI:'));
  const [uri] = uris;
  if (uris.length === 1 && uri !== undefined) return { subject: uri.slice('URI:'.length) };
  return peer.commonName === undefined ? undefined : { subject: peer.commonName };
}
