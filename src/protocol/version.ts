import { LegateError } from './errors.ts';

/** The supported versions of the protocol, the newest first. */
export const protocolVersions = ['1.0', '0.3'] as const;
/**
 * A supported version of A2A.
 * @example const spoken: ProtocolVersion = '1.0';
 */
export type ProtocolVersion = (typeof protocolVersions)[number];

/** The version that a request states. */
export interface VersionRequest {
  /** The `A2A-Version` header (or gRPC metadata). It takes precedence over the query parameter. */
  readonly header?: string | undefined;
  /** The `A2A-Version` query parameter, for clients that cannot set headers. */
  readonly query?: string | null | undefined;
  /** @default all supported versions */
  readonly supported?: readonly ProtocolVersion[];
}

/**
 * Selects the version of a request. A request without one is 0.3, as in the specification. The patch is
 * ignored: `1.0.5` is 1.0. Other versions throw `VERSION_NOT_SUPPORTED`, naming the supported ones.
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
