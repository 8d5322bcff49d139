import type { Field, Section } from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';
import { readAuthentication } from './authentication.ts';
import type { McpServer } from './model.ts';
import { readUrl } from './readers.ts';

const types = ['http', 'https', 'stdio'] as const;

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
    const type = section.get('type')?.oneOf(types, { ignoreCase: true });
    const isProgram = type === 'stdio' || (type === undefined && section.has('command'));
    const way = isProgram ? readProgram(section) : readAddress(section);
    const metaMap = readMetaMap(section.get('meta_map'), uses);
    section.finish();
    if (name === undefined) continue;
    if (servers.has(name)) section.get('name')?.error(`a server named "${name}" is there already`);
    else servers.set(name, { name, ...way, metaMap });
  }
  return servers;
}

function readAddress(section: Section) {
  const url = readUrl(section.require('url', 'or write type: stdio and a command'));
  return { url: url ?? '', auth: readAuthentication(section) };
}

/** A program sees only the variables that are given to it here. */
function readProgram(section: Section) {
  const command = section.require('command', 'the program to start')?.name();
  const env = Object.fromEntries(
    (section.section('env')?.entries() ?? []).flatMap(([name, field]) => {
      const isSecret = /token|secret|key|password/i.test(name);
      const value = isSecret ? field.secret() : field.text();
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const args = section.list('args').map((item) => item.text() ?? '');
  return { command: command ?? '', args, env };
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
