import { readClientTls, readUrl, type Section } from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';
import { readAuthentication } from './authentication.ts';

const types = ['http', 'https', 'stdio'] as const;

/** Reads an entry of `mcp_servers:`: a server with a URL, or a program that communicates over stdio. */
export function readMcpServer(section: Section, uses: Use[]) {
  const name = section.require('name')?.name();
  const type = section.get('type')?.oneOf(types, { ignoreCase: true });
  const isProgram = type === 'stdio' || (type === undefined && section.has('command'));
  const way = isProgram ? readProgram(section) : readAddress(section);
  const metaMap = section.mapping('meta_map', (map) => readMetaMap(map, uses));
  if (name === undefined) return undefined;
  return { name, ...way, metaMap: metaMap ?? { static: {}, fromSlots: [] } };
}

export type McpServer = NonNullable<ReturnType<typeof readMcpServer>>;

function readAddress(section: Section) {
  const url = readUrl(section.require('url', 'or write type: stdio and a command'));
  const tls = section.mapping('tls', readClientTls);
  return { url: url ?? '', auth: readAuthentication(section), tls };
}

/** Reads a program. It is started in the project folder and only gets the variables in `env`. */
function readProgram(section: Section) {
  const command = section.require('command', 'the program to start')?.name();
  const env = section.record('env', (field, name) =>
    /token|secret|key|password/i.test(name) ? field.secret() : field.text(),
  );
  const args = section.list('args').map((item) => item.text() ?? '');
  return { command: command ?? '', args, env: env ?? {} };
}

/** Reads the content of `_meta` of each tool call. */
function readMetaMap(section: Section, uses: Use[]) {
  return {
    static: section.object('static') ?? {},
    fromSlots: section.items('from_slots', (entry) => {
      const field = entry.require('slot');
      const slot = field?.name();
      const param = entry.require('param')?.name();
      if (field === undefined || slot === undefined || param === undefined) return undefined;
      uses.push({ kind: 'slot', name: slot, as: 'meta_map', field });
      return { slot, param };
    }),
  };
}
