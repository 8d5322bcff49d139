import type { Field } from '../../config/index.ts';
import type { Use } from '../domain/index.ts';
import { readAuthentication } from './authentication.ts';
import { readUrl } from './readers.ts';
import type { McpServer } from './model.ts';

/** `mcp_servers:` by name. */
export function readMcpServers(
  items: readonly Field[],
  uses: Use[],
): ReadonlyMap<string, McpServer> {
  const servers = new Map<string, McpServer>();
  for (const item of items) {
    const section = item.section();
    if (section === undefined) continue;
    const name = section.require('name')?.name();
    const url = readUrl(section.require('url'));
    section.get('type')?.oneOf(['http', 'https'], { ignoreCase: true });
    const auth = readAuthentication(section);
    const metaMap = readMetaMap(section.get('meta_map'), uses);
    section.finish();
    if (name === undefined) continue;
    if (servers.has(name)) section.get('name')?.error(`a server named "${name}" is there already`);
    else servers.set(name, { name, url: url ?? '', auth, metaMap });
  }
  return servers;
}

function readMetaMap(field: Field | undefined, uses: Use[]): McpServer['metaMap'] {
  const section = field?.section();
  if (section === undefined) return { static: {}, fromSlots: [] };
  const constants = section.object('static') ?? {};
  const fromSlots = section.list('from_slots').flatMap((item) => {
    const entry = item.section();
    const slotField = entry?.require('slot');
    const slot = slotField?.name();
    const param = entry?.require('param')?.name();
    entry?.finish();
    if (slotField === undefined || slot === undefined || param === undefined) return [];
    uses.push({ kind: 'slot', name: slot, as: 'meta_map', field: slotField });
    return [{ slot, param }];
  });
  section.finish();
  return { static: constants, fromSlots };
}
