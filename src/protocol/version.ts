import { LegateError } from './errors.ts';

/** The versions of the protocol that Legate speaks, the newest first. */
export const protocolVersions = ['1.0', '0.3'] as const;
/**
 * A version of A2A that is spoken here.
 * @example const spoken: ProtocolVersion = '1.0';
 */
export type ProtocolVersion = (typeof protocolVersions)[number];

/** Where a request states its version. */
export interface VersionRequest {
  /** The `A2A-Version` header (or gRPC metadata). It takes precedence over the query parameter. */
  readonly header?: string | undefined;
  /** The `A2A-Version` query parameter, for clients that cannot set headers. */
  readonly query?: string | null | undefined;
  /** @default all that Legate speaks */
  readonly supported?: readonly ProtocolVersion[];
}

/**
 * The version a request asks for. None is 0.3, as the specification has it, and the patch is
 * ignored: `1.0.5` is 1.0. Any other version throws `VERSION_NOT_SUPPORTED`, naming the supported ones.
 */
export function negotiateVersion(request: VersionRequest): ProtocolVersion {
  const { supported = protocolVersions } = request;
  const stated = request.header?.trim() || request.query?.trim() || '0.3';
  const version = /^(\d{1,3}\.\d{1,3})(?:\.\d{1,9})?$/.exec(stated)?.[1];
  const match = supported.find((known) => known === version);
  if (match !== undefined) return match;
  const requested = stated.slice(0, 32);
  const list = supported.join(', ');
  throw new LegateError(
    'VERSION_NOT_SUPPORTED',
    `protocol version ${JSON.stringify(requested)} is not supported here; supported: ${list}`,
    { metadata: { requestedVersion: requested, supportedVersions: list } },
  );
}
