import {
  Field,
  type Problems,
  readClientTls,
  readPeers,
  readStore,
  readTelemetry,
  readUrl,
  type Section,
  type YamlFile,
} from '../../config/index.ts';
import { refuseTls } from '../../http/index.ts';
import { readModelGroups } from '../../models/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { readPushSection, readUrlRules } from '../../push/index.ts';
import type { Use } from '../domain/uses.ts';
import { readA2aServer } from './a2a-server.ts';
import { readHttpApi } from './http-api.ts';
import { type McpServer, readMcpServer } from './mcp-servers.ts';
import { readFilePath, readModelGroupName } from './readers.ts';

/** Sections of other engines' stores, which `store:` replaces. */
const replaced = ['tracker_store', 'lock_store', 'timer_store'];
const absent = [
  'event_broker',
  'tracing',
  'metrics',
  'interaction_handling',
  'privacy',
  'models',
  'action_server',
];
/** Sections that other modules read. */
const loose = ['bus'];
/** Legate's own sections, including those that control access. */
const ownSections = [
  'a2a_server',
  'http_api',
  'store',
  'telemetry',
  'peers',
  'outbound',
  'push',
  'search',
];

/**
 * Reads endpoints.yml. Sections that Rasa has too are read with `shared`: an error can leave such a section
 * out. Errors in Legate's own sections are always fatal.
 */
export function readEndpoints(
  file: YamlFile,
  { problems, shared }: { readonly problems: Problems; readonly shared: Problems },
  uses: Use[],
) {
  const section = Field.document(file, shared);
  const own = Field.document(file, problems);
  for (const key of ownSections) section.get(key);
  const sections = new Map<string, JsonObject>();
  for (const key of loose) {
    const value = section.object(key);
    if (value !== undefined) sections.set(key, value);
  }
  const mcpServers = new Map<string, McpServer>();
  section.items('mcp_servers', (item) => {
    const server = readMcpServer(item, uses);
    if (server === undefined) return;
    const { name } = server;
    if (mcpServers.has(name))
      item.field.at('name').error(`a server named "${name}" is there already`);
    else mcpServers.set(name, server);
  });
  const { groups, unsupported } = readModelGroups(section.list('model_groups'));
  const endpoints = {
    actionEndpoint: readActionEndpoint(section.section('action_endpoint')),
    nlg: readNlg(section.get('nlg'), uses),
    modelGroups: groups,
    /** Ids of groups whose provider is not supported. */
    unsupportedModelGroups: unsupported,
    mcpServers,
    a2aServer: own.mapping('a2a_server', readA2aServer),
    /** Access to the HTTP API; undefined if the command line configures it. */
    httpApi: own.mapping('http_api', readHttpApi),
    store: own.mapping('store', readStore),
    telemetry: own.mapping('telemetry', readTelemetry),
    /** Other agents that flows call by name. */
    peers: own.mapping('peers', (given) =>
      readPeers(given, (field, name) => {
        const instead = 'services are found by their words';
        uses.push({ kind: 'model_group', name, field, instead });
      }),
    ),
    /** The network policy of outbound calls; undefined if all addresses are allowed. */
    outbound: own.mapping('outbound', readUrlRules),
    /** Allowed webhook addresses and the signing key; undefined for the rules of `a2a_server`. */
    push: own.mapping('push', readPushSection),
    /** A module that searches instead of the built-in search of the project's documents. */
    search: own.mapping('search', readSearch),
    /** Sections that other modules read. */
    sections,
  };
  section.get('tls');
  refuseTls(own);
  for (const key of replaced) {
    section.get(key)?.keyWarn(`"${key}" is left out`, { hint: 'configure "store" instead' });
  }
  section
    .get('vector_store')
    ?.keyWarn('"vector_store" is left out: the documents of the project are searched', {
      hint: 'write a module that asks the store, and name it: "search: {module: ./search.ts}"',
    });
  const left = absent.map((key) => section.get(key)).filter((field) => field !== undefined);
  if (left.length > 0) {
    const names = left.map((field) => `"${String(field.path[0])}"`).join(', ');
    left[0]?.keyWarn(`${names} ignored: Legate has no such section`);
  }
  section.finishLeniently();
  return endpoints;
}

function readSearch(section: Section) {
  const module = section.require('module')?.name();
  section.finish();
  return module === undefined ? undefined : { module };
}

export type Endpoints = ReturnType<typeof readEndpoints>;
export type ActionEndpoint = NonNullable<Endpoints['actionEndpoint']>;
export type NlgEndpoint = NonNullable<Endpoints['nlg']>;

function readActionEndpoint(section: Section | undefined) {
  if (section === undefined) return undefined;
  const endpoint = {
    place: section.field.keyPlace,
    url: readUrl(section.get('url')),
    /** A module in this process; takes precedence over the URL. */
    actionsModule: section.name('actions_module'),
    headers:
      section.record('headers', (field, name) =>
        /^(authorization|cookie|.*(token|secret|key).*)$/i.test(name)
          ? field.secret()
          : field.text(),
      ) ?? {},
    basicAuth: section.mapping('basic_auth', (basic) => {
      const username = basic.require('username')?.name();
      const password = basic.require('password')?.secret();
      return username === undefined || password === undefined ? undefined : { username, password };
    }),
    /** Certificates for calls to the action server. */
    tls: section.mapping('tls', readClientTls),
    token: section.secret('token'),
    /** The query parameter that carries the token. */
    tokenName: section.name('token_name') ?? 'token',
    enableSelectiveDomain: section.boolean('enable_selective_domain') ?? false,
    /** Seconds. */
    timeout: section.number('timeout', { minimum: 0 }) ?? 300,
  };
  section.finishLeniently();
  if (!section.has('url') && !section.has('actions_module')) {
    section.field.keyError('"url" or "actions_module" is missing');
  }
  return endpoint;
}

const nlgTypes = ['rephrase', 'server'] as const;

/** Reads `type:` of `nlg`, which can be the path of a Python class. */
function readNlgType(section: Section): (typeof nlgTypes)[number] | 'none' | undefined {
  const field = section.get('type');
  const written = field?.name();
  if (field === undefined || written === undefined) return undefined;
  const name = written.split('.').at(-1) ?? written;
  if (name === 'ContextualResponseRephraser') return 'rephrase';
  if (!written.includes('.')) return written === 'callback' ? 'server' : field.oneOf(nlgTypes);
  const isRephraser = /rephras/i.test(name);
  const hasServer = section.has('url');
  const instead = isRephraser
    ? 'the built-in rephraser rewords responses instead'
    : hasServer
      ? 'the server at its url writes responses instead'
      : 'responses are sent as written';
  field.warn(`the class ${written} is left out: ${instead}`);
  return isRephraser ? 'rephrase' : hasServer ? 'server' : 'none';
}

function readNlg(field: Field | undefined, uses: Use[]) {
  const [first, second] = field?.oneOrMore() ?? [];
  second?.warn('left out: the first entry of the list counts', 'keep one of them');
  const section = first?.section();
  if (section === undefined) return undefined;
  const type = readNlgType(section);
  if (type === 'none') return undefined;
  if (type !== 'rephrase') {
    const url = readUrl(section.require('url', 'or write type: rephrase'));
    const token = section.secret('token');
    const tls = section.mapping('tls', readClientTls);
    section.finishLeniently();
    return url === undefined ? undefined : { type: 'server' as const, url, token, tls };
  }
  section
    .get('summarize_history')
    ?.keyWarn('"summarize_history" has no effect: the last turns are shown as they are');
  const nlg = {
    type,
    rephraseAll: section.boolean('rephrase_all') ?? false,
    maxHistoricalTurns:
      section.number('max_historical_turns', { minimum: 0, isInteger: true }) ?? 5,
    modelGroup: readModelGroupName(section, uses, 'responses are sent as written'),
    /** A key of `Project.files`. */
    prompt: readFilePath(section.get('prompt') ?? section.get('prompt_template'), 'template', uses),
  };
  section.finishLeniently();
  return nlg;
}
