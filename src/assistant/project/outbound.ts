import type { Section } from '../../config/index.ts';
import type { OutboundRules } from './model.ts';

/** `outbound:` of endpoints.yml: where calls to sub agents and MCP servers may go. */
export function readOutbound(section: Section): OutboundRules {
  const hosts = section.has('allowed_hosts') ? section.names('allowed_hosts') : undefined;
  return {
    allowLoopback: section.boolean('allow_loopback') ?? false,
    allowPrivate: section.boolean('allow_private') ?? false,
    allowedNames: section.names('allowed_names'),
    ...(hosts !== undefined && { allowedHosts: hosts }),
  };
}
