import { InvalidArgumentError } from 'commander';
import {
  flag,
  grouped,
  negated,
  operand,
  type OptionsOf,
  repeated,
  value,
  values,
} from './declare.ts';

function number(rule: string, fits: (number: number) => boolean): (text: string) => number {
  return (text) => {
    const number = text.trim() === '' ? Number.NaN : Number(text);
    if (fits(number)) return number;
    throw new InvalidArgumentError(rule);
  };
}

/** Parses an http or https URL and removes trailing slashes. */
function httpUrl(text: string): string {
  if (URL.parse(text) !== null && /^https?:\/\/[^/]/.test(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError(
    'Must be an http or https URL, such as https://agent.example.com.',
  );
}

export const wholeNumber = number(
  'Must be a non-negative integer.',
  (one) => Number.isSafeInteger(one) && one >= 0,
);
export const count = number(
  'Must be an integer of at least 1.',
  (one) => Number.isSafeInteger(one) && one > 0,
);
export const positiveNumber = number(
  'Must be a number greater than 0.',
  (one) => Number.isFinite(one) && one > 0,
);
export const portNumber = number(
  'Must be an integer from 0 to 65535.',
  (one) => Number.isInteger(one) && one >= 0 && one <= 65_535,
);

const seconds = number(
  'It must be a number of seconds from 0 to 86400.',
  (one) => one >= 0 && one <= 86_400,
);

/** Seconds on the command line, milliseconds in code. */
export function milliseconds(text: string): number {
  return Math.round(seconds(text) * 1_000);
}

export const json = flag('print JSON');
export const jsonLines = flag('print one JSON object per line');

const portText = 'port to listen on; 0 for any free port';

export function port(standard: number) {
  return value('port', portText, { short: 'p', default: standard, parse: portNumber });
}

/** A port whose default the command chooses. */
export function portWithDefault(described: string) {
  return value('port', `${portText} (default: ${described})`, { short: 'p', parse: portNumber });
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export function logLevel(standard: LogLevel) {
  return value<LogLevel>('level', 'minimum level of log lines on standard error', {
    choices: logLevels,
    default: standard,
    env: 'LOG_LEVEL',
  });
}

/** Paths of the parts of a project that differ from the defaults. */
export const projectFiles = {
  config: value('file', 'configuration file (default: config.yml)', { short: 'c' }),
  domain: value('path', 'domain file or folder (default: domain.yml and domain/)', { short: 'd' }),
  data: values('path', 'files or folders with flows (default: data/)'),
  endpoints: value('file', 'endpoints file (default: endpoints.yml)'),
  credentials: value('file', 'credentials file (default: credentials.yml)'),
  subAgents: value('folder', 'folder of sub agents (default: sub_agents/)'),
};
export type ProjectFileOptions = OptionsOf<typeof projectFiles>;

export function directory(what = 'project folder') {
  return operand('[directory]', what, '.');
}

export const model = value('file', 'packed model, or a folder whose newest model is used', {
  short: 'm',
});

/** The options of commands that serve. */
export const listening = {
  sslCertificate: value('file', 'TLS certificate (PEM); enables HTTPS'),
  sslKeyfile: value('file', 'private key of the certificate (PEM)'),
  sslCaFile: value('file', 'CA certificates for client certificates (PEM)'),
};
export const cors = values('origin', 'allowed CORS origins; * for all');
export const listenOn = value('host', 'address to listen on', { short: 'i', default: '127.0.0.1' });
/** The URL of the server for callers, behind proxies and port mappings. */
export const publicUrl = value('url', 'public URL, for the agent card; overrides a2a_server.url', {
  env: 'LEGATE_URL',
  parse: httpUrl,
});
export const dangerouslyAllowUnauthenticatedRemote = flag(
  'listen on a non-loopback address without authentication',
);

export const inspect = flag('serve the inspector UI at the printed link');
export const openInspector = negated('do not open the inspector in a browser');
/** The token in the link of the inspector. */
export const inspectToken = value(
  'token',
  'the token in the link of the inspector (default: a random one)',
  { env: 'INSPECT_TOKEN' },
);

/** The bus, and the file that configures it. */
export const bus = {
  busUrl: value('url', 'RabbitMQ URL; overrides bus: in endpoints.yml and AMQP_URL'),
  endpoints: value('file', 'file with the sections bus: and store: (default: endpoints.yml)'),
};
export type BusOptions = OptionsOf<typeof bus>;

const storeText = 'SQLite file or PostgreSQL URL of the store';
export const store = value('store', storeText, { env: 'LEGATE_STORE' });
export const defaultStore = '.legate/store.db';
/** For commands that open the store of an agent. */
export const existingStore = value(
  'store',
  `${storeText} (default: store: of endpoints.yml, else "${defaultStore}")`,
  { env: 'LEGATE_STORE' },
);

/** How to reach agents. */
export const connection = {
  agentCard: value('ref', 'the agent: host, URL, card URL or card file', { short: 'a' }),
  transport: repeated(
    'binding',
    "preferred transport: JSONRPC, HTTP+JSON or GRPC; repeat for fallbacks (default: the card's order)",
  ),
  a2aVersion: value(
    'version',
    'protocol version: 1.0 or 0.3 (default: the newest that the agent supports)',
  ),
  bearer: value('token', 'bearer token; prefer A2ACLI_BEARER, since flags are visible in ps'),
  apiKey: value('key', 'API key; prefer A2ACLI_API_KEY, since flags are visible in ps'),
  cert: value('file', 'client certificate for mutual TLS (PEM)'),
  key: value(
    'file',
    'private key of the certificate (PEM); set A2ACLI_KEY_PASSPHRASE if it is encrypted (default: in the certificate file)',
  ),
  ca: value('file', "CA certificates to trust (PEM) (default: Node's)"),
  svcParam: repeated('name:value', 'service parameter (header) to send; repeatable'),
  header: repeated('name:value', 'alias of --svc-param', { short: 'H' }),
  extension: repeated('uri', 'protocol extension to request; repeatable'),
  timeout: value('duration', 'time limit: 500ms, 30s, 5m (default: none)'),
  insecure: flag('skip TLS certificate verification, for development (default: verified)'),
};

/**
 * The options of every command that calls an agent. Each flag has an environment variable of the same
 * name: `A2ACLI_AGENT_CARD` for `--agent-card`. Defaults are applied when the command runs.
 */
export const client = {
  ...grouped('Connection:', {
    ...connection,
    config: value('file', '.env file with settings (default: the nearest one)'),
  }),
  ...grouped('Output:', {
    output: value('format', 'text, or json for A2A objects (default: text)', { short: 'o' }),
    json: flag('alias of --output json'),
    verbose: flag('print all parts and metadata (default: concise)'),
    debug: flag('log requests and responses to standard error, with credentials redacted'),
  }),
};
export type ClientCommandOptions = OptionsOf<typeof client>;

/** The end of the help of every command that calls an agent. */
export const clientNotes = `Name the agent with --agent-card, A2ACLI_AGENT_CARD or the first argument. Every flag can also be set
as A2ACLI_<FLAG> in the environment or in a .env file (see "legate config show").`;

export const agentOperand = operand('[agent]', 'the agent, unless --agent-card names it');
export const taskOperand = operand(
  '[task...]',
  'the agent (unless --agent-card names it) and the task id',
);

/** For commands whose result is always one object (A2A CLI specification, appendix B). */
export const oneLine = flag('print JSON on one line');
export const eventStream = flag('print events as they arrive; with --json, one object per line');
export const history = value('count', 'maximum number of history messages to print');
export const requestMetadata = value('json', 'JSON object to send with the request');

/** How a command waits for a task. */
export const waiting = {
  awaitAuth: flag(
    'keep waiting while the task is in auth-required (default: stop and print where to authorize)',
  ),
  pollInterval: value(
    'duration',
    'polling interval for agents that do not stream (default: 2s, increasing)',
  ),
};
