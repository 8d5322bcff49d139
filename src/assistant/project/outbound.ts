import type { Section } from '../../config/index.ts';

/** `outbound:` of endpoints.yml: where calls to sub agents and MCP servers may go; public addresses always. */
export function readOutbound(section: Section) {
  const hosts = section.has('allowed_hosts') ? section.names('allowed_hosts') : undefined;
  return {
    allowLoopback: section.boolean('allow_loopback') ?? false,
    allowPrivate: section.boolean('allow_private') ?? false,
    /** Hosts that are trusted as that name, wherever it leads. */
    allowedNames: section.names('allowed_names'),
    /** Only these hosts and their subdomains. */
    ...(hosts !== undefined && { allowedHosts: hosts }),
  };
}
