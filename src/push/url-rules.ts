import type { Field, Section } from '../config/index.ts';

/**
 * Reads `outbound:` and `push:` of a configuration: allowed destinations; public addresses are
 * always allowed.
 * @example const rules = readUrlRules(outboundSection);
 */
export function readUrlRules(section: Section) {
  const hosts = section.has('allowed_hosts') ? section.names('allowed_hosts') : undefined;
  return {
    allowLoopback: section.boolean('allow_loopback') ?? false,
    allowPrivate: section.boolean('allow_private') ?? false,
    /** Hosts that are trusted as that name, wherever it leads; `*.name` for all names below it. */
    allowedNames: readAllowedNames(section.get('allowed_names')),
    /** Only these hosts and their subdomains. */
    ...(hosts !== undefined && { allowedHosts: hosts.map((host) => host.toLowerCase()) }),
  };
}

/**
 * `allowed_names:`, hosts that are trusted as that name.
 * @example const names = readAllowedNames(jwtSection.get('allowed_names'));
 */
export function readAllowedNames(list: Field | undefined): readonly string[] {
  return (list?.list() ?? []).flatMap((field) => {
    const name = field.name()?.toLowerCase();
    if (name === undefined) return [];
    if (/^(?:\*\.)?[^*/:\s]+$|^\[[\da-f:.]+\]$/.test(name) && name !== '*.') return [name];
    field.error('must be a host name, or *.name for all names below it', 'no scheme, port or path');
    return [];
  });
}
