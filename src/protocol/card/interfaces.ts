import { optionalList, type Reader, type Wire } from '../decode/reader.ts';
import { isUnset, optionalId, optionalString, requiredString } from '../decode/scalars.ts';
import { object } from '../decode/table.ts';
import type { AgentInterface } from '../card-model.ts';

/**
 * Reads the interfaces of a card. 1.x lists interfaces with a version each. 0.3 has one `url` of the
 * card's version, and additional interfaces. A superset card has both: a 0.3 address that is missing from
 * the 1.x list is appended to it.
 */
export function readInterfaces(reader: Reader, wire: Wire): readonly AgentInterface[] {
  const listed =
    optionalList(
      reader,
      wire.supportedInterfaces ?? wire.supported_interfaces,
      'supportedInterfaces',
      readInterface,
    ) ?? [];
  const interfaces = [...listed, ...readLegacyInterfaces(reader, wire)];
  const known = new Set<string>();
  const unique = interfaces.filter((item, index) => {
    const key = JSON.stringify([item.url, item.protocolBinding, item.protocolVersion]);
    if (index >= listed.length && known.has(key)) return false;
    known.add(key);
    return true;
  });
  if (unique.length === 0) {
    reader.fail('supportedInterfaces', 'must name at least one interface (or url, in a 0.3 card)');
  }
  if (unique.length > reader.limits.maxListLength) {
    reader.fail('supportedInterfaces', `must have at most ${reader.limits.maxListLength} entries`);
  }
  return unique;
}

const readInterface = object<AgentInterface>({
  url: requiredString,
  protocolBinding: requiredString,
  protocolVersion: (reader, value, field) =>
    majorMinor(optionalString(reader, value, field) ?? '1.0'),
  tenant: optionalId,
});

function readLegacyInterfaces(reader: Reader, wire: Wire): readonly AgentInterface[] {
  if (isUnset(wire.url)) return [];
  const cardVersion = wire.protocolVersion ?? wire.protocol_version;
  const stated = majorMinor(optionalString(reader, cardVersion, 'protocolVersion') ?? '0.3');
  // Versions before 0.3 are called as 0.3.
  const protocolVersion = stated.startsWith('0.') ? '0.3' : stated;
  const transport = wire.preferredTransport ?? wire.preferred_transport;
  const main: AgentInterface = {
    url: requiredString(reader, wire.url, 'url'),
    protocolBinding: optionalString(reader, transport, 'preferredTransport') ?? 'JSONRPC',
    protocolVersion,
  };
  const others = optionalList(
    reader,
    wire.additionalInterfaces ?? wire.additional_interfaces,
    'additionalInterfaces',
    (inner, item): AgentInterface => ({
      url: requiredString(inner, item.url, 'url'),
      protocolBinding: optionalString(inner, item.transport, 'transport') ?? 'JSONRPC',
      protocolVersion,
    }),
  );
  return [main, ...(others ?? [])];
}

/** `1.0.5` becomes `1.0`: the patch is never negotiated. Other texts are returned unchanged. */
function majorMinor(version: string): string {
  return /^(\d+\.\d+)\.\d+/.exec(version)?.[1] ?? version;
}
