import {
  Field,
  type Problems,
  readStore,
  readTelemetry,
  type Section,
  type YamlFile,
} from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { Use } from '../domain/index.ts';
import {
  type A2aServer,
  type ActionEndpoint,
  type Endpoints,
  jwtAlgorithms,
  type NlgEndpoint,
  type OutboundRules,
} from './model.ts';
import { readFilePath, readModelGroupName, readUrl } from './readers.ts';
import { readMcpServers, readModelGroups } from './services.ts';

export const noEndpoints: Endpoints = {
  actionEndpoint: undefined,
  nlg: undefined,
  modelGroups: new Map(),
  mcpServers: new Map(),
  a2aServer: undefined,
  store: undefined,
  telemetry: undefined,
  outbound: undefined,
  sections: new Map(),
};

/** Stores of other engines: ours keeps everything they would. */
const replaced = ['tracker_store', 'lock_store', 'timer_store'];
const absent = [
  'event_broker',
  'vector_store',
  'tracing',
  'metrics',
  'interaction_handling',
  'privacy',
  'models',
  'action_server',
];
/** Read by those who need them. */
const loose = ['bus'];

/** endpoints.yml. */
export function readEndpoints(file: YamlFile, problems: Problems, uses: Use[]): Endpoints {
  if (file.value === null) return noEndpoints;
  const section = Field.root(file, problems).section();
  if (section === undefined) return noEndpoints;
  const a2a = section.section('a2a_server');
  const store = section.section('store');
  const telemetry = section.section('telemetry');
  const sections = new Map<string, JsonObject>();
  for (const key of loose) {
    const value = section.object(key);
    if (value !== undefined) sections.set(key, value);
  }
  const endpoints: Endpoints = {
    actionEndpoint: readActionEndpoint(section.section('action_endpoint')),
    nlg: readNlg(section.section('nlg'), uses),
    modelGroups: readModelGroups(section.list('model_groups')),
    mcpServers: readMcpServers(section.list('mcp_servers'), uses),
    a2aServer: a2a && readA2aServer(a2a),
    store: store && readStore(store),
    telemetry: telemetry && readTelemetry(telemetry),
    outbound: readOutbound(section.section('outbound')),
    sections,
  };
  refuseTls(section);
  for (const key of replaced) {
    section.get(key)?.keyWarn(`"${key}" is left out`, { hint: 'configure "store" instead' });
  }
  const left = absent.map((key) => section.get(key)).filter((field) => field !== undefined);
  if (left.length > 0) {
    const names = left.map((field) => `"${String(field.path[0])}"`).join(', ');
    left[0]?.keyWarn(`${names}: left out, there is nothing here that would read it`);
  }
  section.finishLeniently();
  return endpoints;
}

function readActionEndpoint(section: Section | undefined): ActionEndpoint | undefined {
  if (section === undefined) return undefined;
  const basic = section.section('basic_auth');
  const username = basic?.require('username')?.name();
  const password = basic?.require('password')?.secret();
  basic?.finish();
  const endpoint: ActionEndpoint = {
    place: section.field.keyPlace,
    url: readUrl(section.get('url')),
    actionsModule: section.name('actions_module'),
    headers: readHeaders(section.section('headers')),
    basicAuth:
      username === undefined || password === undefined ? undefined : { username, password },
    token: section.secret('token'),
    tokenName: section.name('token_name') ?? 'token',
    enableSelectiveDomain: section.boolean('enable_selective_domain') ?? false,
    timeout: section.number('timeout', { minimum: 0 }) ?? 300,
  };
  section.finishLeniently();
  if (!section.has('url') && !section.has('actions_module')) {
    section.field.keyError('"url" or "actions_module" is missing');
  }
  return endpoint;
}

function readHeaders(section: Section | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (section?.entries() ?? []).flatMap(([name, field]) => {
      const isSecret = /^(authorization|cookie|.*(token|secret|key).*)$/i.test(name);
      const value = isSecret ? field.secret() : field.text();
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function readNlg(section: Section | undefined, uses: Use[]): NlgEndpoint | undefined {
  if (section === undefined) return undefined;
  const type = section.get('type')?.oneOf(['rephrase', 'server'] as const);
  if (type !== 'rephrase') {
    const url = readUrl(section.require('url', 'or write type: rephrase'));
    const token = section.secret('token');
    section.finish();
    return url === undefined ? undefined : { type: 'server', url, token };
  }
  section
    .get('summarize_history')
    ?.keyWarn('"summarize_history" has no effect: the last turns are shown as they are');
  const nlg: NlgEndpoint = {
    type,
    rephraseAll: section.boolean('rephrase_all') ?? false,
    maxHistoricalTurns:
      section.number('max_historical_turns', { minimum: 0, isInteger: true }) ?? 5,
    modelGroup: readModelGroupName(section, uses),
    prompt: readFilePath(section.get('prompt'), 'template', uses),
  };
  section.finishLeniently();
  return nlg;
}

/** `outbound:` of endpoints.yml: where calls to sub agents and MCP servers may go. */
function readOutbound(section: Section | undefined): OutboundRules | undefined {
  if (section === undefined) return undefined;
  const hosts = section.has('allowed_hosts') ? section.names('allowed_hosts') : undefined;
  const rules: OutboundRules = {
    allowLoopback: section.boolean('allow_loopback') ?? false,
    allowPrivate: section.boolean('allow_private') ?? false,
    allowedNames: section.names('allowed_names'),
    ...(hosts !== undefined && { allowedHosts: hosts }),
  };
  section.finish();
  return rules;
}

/** `a2a_server:` with all its keys and their defaults. */
function readA2aServer(section: Section): A2aServer {
  const seconds = { minimum: 0, isInteger: true };
  const taskTimeoutSeconds = section.number('task_timeout_seconds', seconds) ?? 600;
  const hosts = section.get('push_notification_allowed_hosts');
  const server: A2aServer = {
    description: section.require('description', 'say what the agent is for')?.name() ?? '',
    url: readUrl(section.get('url')),
    agentCardPath: section.name('agent_card_path'),
    includeConversationRepair: section.boolean('include_conversation_repair') ?? true,
    taskTimeoutSeconds,
    messageCacheTtlSeconds:
      section.number('a2a_message_cache_ttl_seconds', seconds) ?? taskTimeoutSeconds,
    maxContexts: section.number('max_contexts', seconds) ?? 1000,
    pushNotificationsEnabled: section.boolean('push_notifications_enabled') ?? false,
    pushNotificationAllowedHosts:
      hosts && section.names('push_notification_allowed_hosts').map((host) => host.toLowerCase()),
    auth: readAuth(section.section('auth')),
  };
  refuseTls(section);
  section.finish();
  return server;
}

/** A block of former times: certificates belong to the port, which the agent shares with others. */
function refuseTls(section: Section): void {
  section.get('tls')?.keyError('"tls" does not belong here', {
    hint: 'all routes share one port: use --ssl-certificate and --ssl-keyfile',
  });
}

function readAuth(section: Section | undefined): A2aServer['auth'] {
  if (section === undefined) return undefined;
  section.require('type', 'write bearer')?.oneOf(['bearer']);
  const jwt = section.require('jwt')?.section();
  section.finish();
  // Without a key nothing could be verified, so what is missing is an error and never an open door.
  const algorithm = jwt?.get('algorithm')?.oneOf(jwtAlgorithms) ?? 'RS256';
  const isSymmetric = algorithm.startsWith('HS');
  const secretField = jwt?.get('secret');
  const keyField = jwt?.get('public_key_path');
  if (jwt !== undefined && isSymmetric) jwt.require('secret', 'write "${JWT_SECRET}"');
  if (jwt !== undefined && !isSymmetric) {
    jwt.require('public_key_path', 'name a PEM file with the public key');
    secretField?.keyError(`${algorithm} is verified with a public key, not with a secret`);
  } else keyField?.keyError(`${algorithm} is verified with a secret, not with a public key`);
  const result = {
    algorithm,
    publicKeyPath: keyField?.name(),
    secret: secretField?.secret(),
    issuer: jwt?.name('issuer'),
    audience: jwt?.name('audience'),
  };
  jwt?.finish();
  return { type: 'bearer', jwt: result };
}
