import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Project } from '../../assistant/index.ts';
import { busTlsFiles } from '../../bus/index.ts';
import type { ClientTlsFiles } from '../../config/index.ts';
import { readModelGroup } from '../../models/index.ts';
import { pemBlocks, readCertificates } from '../../net/index.ts';
import { clientTls } from '../../push/index.ts';
import { readTls } from '../../service/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { Endpoints } from '../endpoints.ts';
import { type Diagnosis, failed, passed, reasonOf, skipped, warning } from './diagnosis.ts';

/** Number of days before the expiry of a certificate from which the check warns. */
const expiryWarningDays = 21;
const dayMs = 86_400_000;

/** Checks whether the certificate of the port matches its key, and how long it is valid. */
export function examineCertificate(
  { certificate, key }: { readonly certificate?: string; readonly key?: string },
  now: number,
): Diagnosis {
  const what = 'Certificate';
  if (certificate === undefined) return skipped(what, 'no --ssl-certificate is given');
  const fix = 'name a PEM certificate and its key: --ssl-certificate and --ssl-keyfile';
  try {
    if (key !== undefined) readTls({ certificate, key });
    return validity(what, readFileSync(certificate), now);
  } catch (error) {
    return failed(what, reasonOf(error), fix);
  }
}

/** Checks whether the authorities of client certificates are readable, and when the first one expires. */
export function examineAuthorities(path: string, now: number): Diagnosis {
  const what = 'Authorities of client certificates';
  try {
    const { blocks } = pemBlocks(readCertificates(path, '--ssl-ca-file: the file'));
    const [first] = blocks
      .filter(({ label }) => label.endsWith('CERTIFICATE'))
      .map(({ text }) => ({ text, end: Date.parse(new X509Certificate(text).validTo) }))
      .toSorted((a, b) => a.end - b.end);
    return validity(what, first?.text ?? '', now);
  } catch (error) {
    return failed(what, reasonOf(error), 'name a PEM file of certificates: --ssl-ca-file');
  }
}

/** Checks how long a certificate is valid; throws for an invalid certificate. */
export function validity(what: string, certificate: Buffer | string, now: number): Diagnosis {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const days = Math.floor((Date.parse(validTo) - now) / dayMs);
  const renew = 'renew it; a running server reads the new file by itself';
  if (Date.parse(validFrom) > now) return failed(what, `not valid before ${validFrom}`, renew);
  if (days < 0) return failed(what, `expired on ${validTo}`, renew);
  const found = `valid for ${days} more days, until ${validTo}`;
  return days < expiryWarningDays ? warning(what, found, renew) : passed(what, found);
}

/** The TLS files of one outbound connection. */
export interface NamedTls {
  /** The owner of the connection, such as `model group commands`. */
  readonly owner: string;
  readonly tls: ClientTlsFiles;
}

/** The `tls:` settings of all outbound connections. */
export function clientTlsOf(
  endpoints: Pick<Endpoints, 'bus' | 'peers' | 'server'>,
  groups: ReadonlyMap<string, JsonObject>,
  project: Project | undefined,
): readonly NamedTls[] {
  const found: { readonly owner: string; readonly tls: ClientTlsFiles | undefined }[] = [
    { owner: 'the bus', tls: busTlsFiles(endpoints.bus ?? {}) },
    { owner: 'peers', tls: endpoints.peers?.tls },
    { owner: 'a2a_server.auth.jwt', tls: endpoints.server?.auth?.jwt?.tls },
    ...[...groups].flatMap(([id, group]) => modelTlsOf(id, group)),
  ];
  if (project !== undefined) {
    const { actionEndpoint, nlg, mcpServers } = project.endpoints;
    found.push({ owner: 'action_endpoint', tls: actionEndpoint?.tls });
    if (nlg?.type === 'server') found.push({ owner: 'nlg', tls: nlg.tls });
    for (const [name, server] of mcpServers) {
      if ('tls' in server) found.push({ owner: `MCP server ${name}`, tls: server.tls });
    }
    for (const agent of project.subAgents.values()) {
      if (agent.protocol === 'A2A')
        found.push({ owner: `sub agent ${agent.name}`, tls: agent.tls });
    }
  }
  return found.flatMap(({ owner, tls }) => (tls === undefined ? [] : [{ owner, tls }]));
}

/** Empty for an invalid group, which the check of its models reports. */
function modelTlsOf(id: string, group: JsonObject) {
  try {
    return readModelGroup({ id, ...group }).models.map(({ tls }) => ({
      owner: `model group ${id}`,
      tls,
    }));
  } catch {
    return [];
  }
}

/** Checks whether the TLS files of a connection are usable, and how long the client certificate is valid. */
export function examineClientTls(
  { owner, tls }: NamedTls,
  directory: string,
  now: number,
): Diagnosis {
  const what =
    tls.cert === undefined ? `Certificates of ${owner}` : `Client certificate of ${owner}`;
  try {
    const { last } = clientTls(tls, { directory });
    return last.certificate === undefined
      ? passed(what, `${resolve(directory, tls.ca ?? '')} is readable`)
      : validity(what, last.certificate, now);
  } catch (error) {
    return failed(what, reasonOf(error), `fix tls of ${owner}, or the files it names`);
  }
}
