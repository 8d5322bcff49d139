import { readAllowedNames, type Section } from '../config/index.ts';

/**
 * Reads the allowed destinations in `outbound:` and `push:` of a configuration. Public addresses are
 * always allowed.
 * @example const rules = readUrlRules(outboundSection);
 */
export function readUrlRules(section: Section) {
  const hosts = section.has('allowed_hosts') ? section.names('allowed_hosts') : undefined;
  return {
    allowLoopback: section.boolean('allow_loopback') ?? false,
    allowPrivate: section.boolean('allow_private') ?? false,
    /** Hosts that are trusted by name, whatever they resolve to; `*.name` for all names below it. */
    allowedNames: readAllowedNames(section.get('allowed_names')),
    /** Only these hosts and their subdomains. */
    ...(hosts !== undefined && { allowedHosts: hosts.map((host) => host.toLowerCase()) }),
  };
}
