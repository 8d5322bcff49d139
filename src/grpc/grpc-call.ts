import type { Metadata } from '@grpc/grpc-js';
import { idempotencyKeyOf, listOf, type Service } from '../http/index.ts';
import { LegateError, negotiateVersion, type ProtocolVersion } from '../protocol/index.ts';
import type { Call } from '../tasks/index.ts';

/** The call that metadata describes. The signal says that nobody waits for the answer any more. */
export function callOf(
  metadata: Metadata,
  { caller, isLocal }: Pick<Call, 'caller' | 'isLocal'>,
  version: ProtocolVersion,
  signal: AbortSignal,
): Call {
  const extensions = textOf(metadata, 'a2a-extensions') ?? textOf(metadata, 'x-a2a-extensions');
  const key = textOf(metadata, 'idempotency-key');
  const lastEventId = textOf(metadata, 'last-event-id') ?? '';
  const traceparent = textOf(metadata, 'traceparent');
  return {
    caller,
    isLocal: isLocal === true,
    version,
    signal,
    ...(extensions !== undefined && { extensions: listOf(extensions) }),
    ...(key !== undefined && key !== '' && { idempotencyKey: idempotencyKeyOf(key) }),
    ...(/^\d{1,15}$/.test(lastEventId) && { lastEventId: Number(lastEventId) }),
    ...(traceparent !== undefined && traceOf(metadata, traceparent)),
  };
}

/**
 * The service's name tells the version, so the metadata has only to agree. Stating none means 0.3,
 * which the service of 1.x is not.
 */
export function checkVersion(
  service: Service,
  metadata: Metadata,
  expected: ProtocolVersion,
): void {
  const stated = textOf(metadata, 'a2a-version') ?? '';
  const version = negotiateVersion({ header: stated });
  if (version === expected || (stated === '' && service.isLenient)) return;
  throw new LegateError(
    'VERSION_NOT_SUPPORTED',
    `this service belongs to A2A ${expected}: send the metadata a2a-version: ${expected}`,
    { metadata: { supportedVersions: expected } },
  );
}

/** Metadata as HTTP headers, for those who read headers. Binary values are none. */
export function headersOf(metadata: Metadata): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    const texts = values.filter((value) => typeof value === 'string');
    const [first] = texts;
    if (first !== undefined) headers[name] = texts.length === 1 ? first : texts;
  }
  return headers;
}

function traceOf(
  metadata: Metadata,
  traceparent: string,
): Pick<Call, 'traceparent' | 'tracestate'> {
  const tracestate = textOf(metadata, 'tracestate');
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** Repeated metadata is one list, as repeated headers are. */
function textOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.map(String).join(',');
}
